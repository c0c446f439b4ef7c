"""Write docs/operators: one page per table of docs/operators.md, with an example of each operator,
taken from its sample calls in the tests: `python -m tools.docs.operators`.

`python -m tools.docs.examples` runs them and adds the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from byoc_lab.errors import ByocLabError
from byoc_lab.relay import Call, Constant, Expr, Function, IRModule, Op, TensorType, Tuple, Var
from byoc_lab.relay.ir.expr_functor import ExprMutator
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample
from tools.docs.examples import BLOCK, DOCS
from tools.operator_table import example_page, tables

FOLDER = DOCS / "operators"
FEW = 30
"""Numbers of an example's inputs, or of its results, that are written out."""
SIDE = 4
"""The most elements along an axis that is made shorter."""
WIDTH = 88
WRITTEN = {
    "arange": 'relay.arange(relay.const(1), relay.const(12), relay.const(4), dtype="int32")',
    "device_copy": 'relay.device_copy(relay.var("data", shape=(2, 3)), "cpu", "cuda:1")',
    "on_device": 'relay.annotation.on_device(relay.var("data", shape=(2, 3)), "cpu")',
    "unique": '"%0 = unique(%data); strided_slice(%0.0, begin=[0], end=[3], strides=[1])", '
    'data=np.array([3, 1, 3, 2, 1], "int32")',
    **{
        name: f'"{name}(%data)", data=[1.5, -np.inf, np.inf, np.nan]'
        for name in ("isfinite", "isinf", "isnan")
    },
    **{
        name: f'"{name}(%lhs, %rhs)", lhs=[1, 2, 3], rhs=[1, 0, 3]'
        for name in ("equal", "not_equal")
    },
    **{
        name: f'"{name}(%lhs, %rhs)", lhs=np.array([[False], [True]]), rhs=np.array([False, True])'
        for name in ("logical_and", "logical_or", "logical_xor")
    },
}
"""Arguments of `show` for operators with attributes that Relay's text has only as metadata, and for
those of which drawn numbers show little."""
HEAD = '''# Examples: {title}

A call of each operator of [this table](../operators.md), in Relay's text, with its type, and with
its value where the inputs are numbers. In a notebook, run this cell first:

```python
import numpy as np

import byoc_lab{compat}
from byoc_lab import relay, transform


def show(call, **inputs):
    """Print the type of a call, an expression or text, and its value if all inputs are numbers.

    inputs: types in Relay's text, arrays, or lists (float32)."""
    arrays = {{
        name: np.asarray(value, getattr(value, "dtype", "float32"))
        for name, value in inputs.items()
        if not isinstance(value, str)
    }}
    if isinstance(call, str):
        types = {{n: relay.TensorType(a.shape, a.dtype.name) for n, a in arrays.items()}}
        parameters = ", ".join(f"%{{n}}: {{ty}}" for n, ty in {{**inputs, **types}}.items())
        mod = relay.parse(f"def @main({{parameters}}) {{{{ {{call}} }}}}")
    else:
        mod = relay.IRModule.from_expr(call)
    mod = transform.InferType()(mod)
    print(mod["main"].ret_type)
    if len(arrays) == len(mod["main"].params):
        for value in byoc_lab.evaluate(mod, arrays).outputs:
            print(np.array2string(value, precision=3, suppress_small=True))
```
'''


def pages() -> dict[Path, str]:
    """The pages without outputs, by file."""
    written = {}
    for title, members in tables().items():
        compat = "\nimport byoc_lab.compat" if "compat" in title else ""
        parts = [HEAD.format(title=title.replace("`", ""), compat=compat), *map(_section, members)]
        written[DOCS / example_page(title)] = "\n".join(parts)
    return written


def _section(name: str) -> str:
    doc = Op.get(name).definition.doc
    shown = f"show({WRITTEN[name]})" if name in WRITTEN else _best(name)
    return f"## {name}\n\n{_escaped(doc)}\n\n```python\n{shown}\n```\n"


def _escaped(text: str) -> str:
    return text.replace("*", "\\*").replace("_", "\\_").replace("[", "\\[").replace("<", "&lt;")


class _Example:
    """A sample as a function with the parameter names of the definition, and its inputs."""

    def __init__(self, sample: Sample):
        opened = _Opened(sample)
        function, definition = opened.function, Op.get(sample.op).definition
        self.inputs = dict(zip(_names(sample.op, function), opened.values, strict=True))
        renamed = [
            Var(n, p.type_annotation) for n, p in zip(self.inputs, function.params, strict=True)
        ]
        body = _Replaced(dict(zip(function.params, renamed, strict=True))).visit(function.body)
        self.module = infer_module(IRModule.from_expr(Function(renamed, body)))
        self.size = sum(map(np.size, self.inputs.values()))
        self.is_small = self.size <= FEW and definition.reference is not None
        if self.is_small:
            results = evaluate(self.module, self.inputs).outputs
            self.is_small = sum(map(np.size, results)) <= FEW

    def text(self) -> str:
        """The call of `show`."""
        whole = self.module.astext(show_types=False, header=False)
        lines = whole.partition("{\n")[2].rpartition("\n}")[0].split("\n")
        call = "\n".join(line.removeprefix("  ") for line in lines)
        quoted = f'"""{call}"""' if "\n" in call else f"'{call}'" if '"' in call else f'"{call}"'
        types = {p.name_hint: f'"{p.type_annotation}"' for p in self.module["main"].params}
        given = [
            f"{name}={_literal(value) if self.is_small else types[name]}"
            for name, value in self.inputs.items()
        ]
        line = f"show({', '.join([quoted, *given])})"
        if len(line) <= WIDTH and "\n" not in line:
            return line
        return "\n".join(["show(", *(f"    {part}," for part in (quoted, *given)), ")"])


class _Opened(ExprMutator):
    """The function of a sample in which constants with several elements became parameters."""

    def __init__(self, sample: Sample):
        super().__init__()
        function = sample.function()
        self.values = [_rounded(array) for array in sample.data()]
        self._more: list[Var] = []
        body = self.visit(function.body)
        self.function = Function([*function.params, *self._more], body)

    def visit_constant(self, const: Constant) -> Expr:
        array = const.data.numpy()
        if array.ndim == 0:
            return const
        self.values.append(array)
        self._more.append(
            Var(f"constant{len(self._more)}", TensorType(array.shape, array.dtype.name))
        )
        return self._more[-1]


class _Replaced(ExprMutator):
    """Replaces expressions by variables."""

    def __init__(self, by: dict[Var, Var]):
        super().__init__()
        self._by = by

    def visit_var(self, var: Var) -> Expr:
        return self._by.get(var, var)


def _names(op: str, function: Function) -> list[str]:
    """The names of the parameters, taken from the arguments that they are."""
    nodes = (node for node in post_order(function.body) if isinstance(node, Call))
    call = next(node for node in nodes if node.is_op(op))
    named: dict[Expr, str] = {}
    for name, arg in zip(Op.get(op).definition.inputs, call.args, strict=False):
        if isinstance(arg, Var):
            named[arg] = name.rstrip("*")
        elif isinstance(arg, Tuple):
            named |= {f: f"{name.rstrip('*')}{n}" for n, f in enumerate(arg.fields)}
    return [named.get(p, p.name_hint) for p in function.params]


def _best(name: str) -> str:
    """The example with the fewest numbers; the first one if all have many."""
    found = [e for s in SAMPLES if s.op == name for e in _examples(s)]
    return min(found, key=lambda e: e.size if e.is_small else np.inf).text()


def _examples(sample: Sample) -> Iterator[_Example]:
    """The sample, and its variants with smaller axes if the operator accepts them."""
    yield _Example(sample)
    for rank in range(len(sample.shapes), 3):
        shapes = [tuple(min(n, SIDE) for n in shape[-rank:]) for shape in sample.shapes]
        with suppress(ByocLabError):
            yield _Example(replace(sample, shapes=shapes))


def _rounded(array: np.ndarray) -> np.ndarray:
    return array.round(1) if array.dtype.kind == "f" else array


def _literal(array: np.ndarray) -> str:
    if array.dtype == np.float32:
        return str(np.round(array.astype(float), 1).tolist())
    dtype = "" if array.dtype == bool else f', "{array.dtype.name}"'
    return f"np.array({array.tolist()}{dtype})"


def without_outputs(text: str) -> str:
    return BLOCK.sub(lambda block: f"```{block[1]}\n{block[2]}```\n", text)


def main() -> None:
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(DOCS)}")


if __name__ == "__main__":
    main()
