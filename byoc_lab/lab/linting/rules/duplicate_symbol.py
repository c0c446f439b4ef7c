"""Lint rule BYL019 duplicate-symbol: two external functions have the same symbol."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.external import external_functions, symbol_of
from byoc_lab.relay.ir.module import IRModule

_T = "Tensor[(2, 3), float32]"


def _text(first: str, second: str) -> str:
    def external(name: str, symbol: str, op: str) -> str:
        attrs = f'Compiler="dnnl", Primitive=1, global_symbol="{symbol}"'
        return f"def @{name}(%p: {_T}, {attrs}) -> {_T} {{\n  {op}(%p)\n}}\n"

    return (
        f"def @main(%x: {_T}) -> {_T} {{\n  %0 = @f(%x);\n  @g(%0)\n}}\n"
        f"{external('f', first, 'nn.relu')}{external('g', second, 'tanh')}"
    )


class DuplicateSymbol(LintRule):
    """Two external functions have the same `global_symbol`.

    ## Why is this bad?
    The symbol is the name under which the generated code is linked. Of two functions with the same
    symbol, one replaces the other, or the linker fails.

    ## What to do instead
    Give each function a unique symbol. If two modules are partitioned and joined later, each needs
    its own `mod_name`: `PartitionGraph(mod_name="second")`.

    ## References
    TVM 0.16, src/relay/transforms/partition_graph.cc, `NameMangleExtFuncs`.
    """

    code, name = "BYL019", "duplicate-symbol"
    VALID = (Sample(_text("f", "g")),)
    INVALID = (Sample(_text("f", "f")),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        seen: dict[str, str] = {}
        for func, home in external_functions(mod):
            symbol = symbol_of(func)
            if not symbol:
                continue
            if symbol in seen:
                yield self.finding(
                    f"two external functions have the symbol {symbol!r}: one in @{seen[symbol]}, "
                    f"one in @{home}",
                    "give each a unique symbol; PartitionGraph(mod_name=...) changes all symbols "
                    "of a module",
                    func,
                    function=home,
                )
            seen.setdefault(symbol, home)
