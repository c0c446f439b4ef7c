"""Repros: a sub-graph before and after a pass, its inputs, and a script that compares the two."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.files import write_text
from byoc_lab.lab.checking.bounds.step import Array, flat
from byoc_lab.lab.checking.bounds.uncertain import Executed, Quantity, narrowed
from byoc_lab.lab.checking.kernels import Kernel
from byoc_lab.lab.checking.pairing import Divergence
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.run.hosts.host import LinkedRegion

SCRIPT = '''"""{title}

Compares before.relay with after.relay on inputs.npz, in float64. Ends with an AssertionError while
they differ by more than the tolerance in inputs.npz.
"""

from pathlib import Path

import numpy as np

import byoc_lab
from byoc_lab import relay

HERE = Path(__file__).parent
saved = np.load(HERE / "inputs.npz")
inputs = {{name: saved[name] for name in saved.files if name != "tolerance"}}


def run(name):
    mod = relay.parse((HERE / name).read_text(encoding="utf-8"))
    names = [p.name_hint for p in mod["main"].params]
    return byoc_lab.evaluate(mod, [inputs[n] for n in names], dtype="float64").outputs[0]


before, after = run("before.relay"), run("after.relay")
assert before.shape == after.shape, f"{{before.shape}} became {{after.shape}}"
with np.errstate(invalid="ignore"):
    error = np.abs(after.astype(float) - before)
error[(before == after) | (np.isnan(before) & np.isnan(after))] = 0
wrong = ~(error <= saved["tolerance"])
assert not wrong.any(), (
    f"{{wrong.sum()}} of {{wrong.size}} elements differ, the first at "
    f"{{np.argwhere(wrong)[0].tolist()}}: {{before[wrong][0]}} became {{after[wrong][0]}}"
)
print("the same within the tolerance")
'''


KERNEL_SCRIPT = '''"""{title}

Compiles region.relay with a code generator and compares its result on inputs.npz with the reference
in float64. Ends with an AssertionError while they differ by more than the tolerance in inputs.npz.
"""

from pathlib import Path

import numpy as np

import byoc_lab
from byoc_lab import relay
from byoc_lab.run.build import checked_region
{codegen}

HERE = Path(__file__).parent
saved = np.load(HERE / "inputs.npz")
inputs = [saved[f"x{{n}}"] for n in range(len(saved.files) - 1)]
mod = relay.transform.InferType()(relay.parse((HERE / "region.relay").read_text(encoding="utf-8")))
function = mod[{symbol!r}]
wanted = byoc_lab.evaluate(function, inputs, dtype="float64").outputs[0]
region = checked_region(codegen(function, {symbol!r}), {compiler!r}, function, {symbol!r})
(got,) = region(*inputs)
with np.errstate(invalid="ignore"):
    error = np.abs(got.astype(float) - wanted)
error[(got == wanted) | (np.isnan(got) & np.isnan(wanted))] = 0
wrong = ~(error <= saved["tolerance"])
assert not wrong.any(), (
    f"{{wrong.sum()}} of {{wrong.size}} elements are wrong, the first at "
    f"{{np.argwhere(wrong)[0].tolist()}}: {{got[wrong][0]}} in place of {{wanted[wrong][0]}}"
)
print("right within the tolerance")
'''


class Cut:
    """Expressions of steps, with parameters for values computed outside."""

    def __init__(self, inside: Sequence[Executed], names: dict[int, str], shared: dict[str, Array]):
        self.inside = {step.number for step in inside}
        self.names, self.shared = names, shared
        self.params: dict[str, Var] = {}
        self.made: dict[int, Expr] = {}

    def of(self, quantity: Quantity) -> Expr:
        """The expression of a value."""
        todo = [quantity]
        while todo:
            item = todo[-1]
            step = item.made_by
            if step is None or step.number not in self.inside:
                self.made[id(item)] = self.outside(item)
            elif missing := [a for a in step.args if id(a) not in self.made]:
                todo += missing
                continue
            else:
                self.call(step)
            todo.pop()
        return self.made[id(quantity)]

    def call(self, step: Executed) -> None:
        made: Expr = Call(
            step.call.op, [self.structured(a) for a in step.arguments], step.call.attrs
        )
        several = len(step.results) > 1
        for n, result in enumerate(step.results):
            self.made[id(result)] = TupleGetItem(made, n) if several else made

    def structured(self, argument: Any) -> Expr:
        if isinstance(argument, tuple):
            return Tuple([self.structured(a) for a in argument])
        return self.made[id(argument)]

    def outside(self, quantity: Quantity) -> Expr:
        if isinstance(quantity.leaf, Constant):
            return quantity.leaf
        name = self.names.get(id(quantity))
        if name is None:
            array: Array = narrowed(quantity)
            known = (n for n, a in self.shared.items() if same_array(a, array))
            name = next(known, f"x{len(self.shared)}")
            self.names[id(quantity)] = name
            self.shared[name] = array
        if name not in self.params:
            array = self.shared[name]
            self.params[name] = Var(name, TensorType(array.shape, quantity.dtype))
        return self.params[name]


def same_array(a: Array, b: Array) -> bool:
    """Whether two arrays are equal within rounding."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    close = (
        np.allclose(a, b, rtol=1e-5, atol=0, equal_nan=True) if a.dtype.kind == "f" else (a == b)
    )
    return bool(np.all(close))


def write_repro(folder: Path, where: Divergence, stage: str) -> Path:
    """Write before.relay, after.relay, inputs.npz and repro.py; create the folder if it is
    missing."""
    folder.mkdir(parents=True, exist_ok=True)
    shared: dict[str, Array] = {}
    for name, steps, value in (
        ("before", where.before, where.wanted),
        ("after", where.after, where.got),
    ):
        cut = Cut(steps, {}, shared)
        body = cut.of(value)
        mod = IRModule.from_expr(Function(list(cut.params.values()), body))
        write_text(folder / f"{name}.relay", mod.astext())
    tolerance = np.broadcast_to(where.allowed, where.wanted.shape)
    np.savez(folder / "inputs.npz", tolerance=tolerance, **shared)  # type: ignore[arg-type]
    title = f"{stage} changes the numbers of this part of a module."
    write_text(folder / "repro.py", SCRIPT.format(title=title))
    return folder


def write_kernel_repro(folder: Path, kernel: Kernel, region: LinkedRegion) -> Path:
    """Write region.relay, inputs.npz and repro.py for a wrong step of a region.

    The script imports the code generator if it is a function of a module, and uses the registered
    one otherwise.
    """
    folder.mkdir(parents=True, exist_ok=True)
    assert kernel.step is not None and kernel.tolerance is not None
    step = Function(kernel.step.params, kernel.step.body, attrs=region.function.attrs)
    text = IRModule({GlobalVar(region.symbol): step}).astext()
    write_text(folder / "region.relay", text)
    arrays = {f"x{n}": a for n, a in enumerate(flat(kernel.given))}
    np.savez(folder / "inputs.npz", tolerance=kernel.tolerance, **arrays)
    script = KERNEL_SCRIPT.format(
        title=f"The code that {region.compiler} generates for this part of a region is wrong.",
        codegen=_import_of(region),
        compiler=region.compiler,
        symbol=region.symbol,
    )
    write_text(folder / "repro.py", script)
    return folder


def _import_of(region: LinkedRegion) -> str:
    """The script lines that define `codegen`."""
    codegen = region.codegen
    module, name = getattr(codegen, "__module__", ""), getattr(codegen, "__qualname__", "")
    if module not in ("", "__main__") and getattr(sys.modules.get(module), name, None) is codegen:
        return f"from {module} import {name} as codegen"
    return (
        "from byoc_lab.run.backends import get_backend\n\n"
        "# Import the module that registers the back end, if that is not byoc_lab.\n"
        f"codegen = get_backend({region.compiler!r})"
    )
