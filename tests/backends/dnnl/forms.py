"""Partitions the calls of `benchmarks/dnnl_forms.py` for DNNL and finds kernels that are oneDNN's
plain loops.

As a program, prints the plain loops of all calls on this process's instruction set.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.relay.ir.expr import Function
from byoc_lab.run.metering.op_cards import OpCard
from byoc_lab.transform import InferType


def _forms() -> dict[str, Callable[[], Any]]:
    path = Path(__file__).parents[3] / "benchmarks" / "dnnl_forms.py"
    spec = importlib.util.spec_from_file_location("dnnl_forms", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    forms: dict[str, Callable[[], Any]] = module.FORMS
    return forms


FORMS = _forms()


def regions(body: Any) -> list[Function]:
    """The regions of a function with this body that DNNL accepts."""
    params = relay.analysis.free_vars(body)
    mod = InferType()(relay.IRModule.from_expr(Function(params, body)))
    cut = byoc_lab.trace(mod, "dnnl").result
    return [f for f in cut.functions.values() if "Compiler" in f.attrs]


def plain_loops(name: str) -> list[str]:
    """The operations that run on plain loops; fails if DNNL accepts no operation of this form."""
    cut = regions(FORMS[name]())
    stats = [s for function in cut for s in dnnl.compile_region(function, "r").stats()["ops"]]
    assert stats, f"DNNL accepts nothing of {name}"
    return [str(op) for op in (OpCard.of(s, None) for s in stats) if op.is_slow]


if __name__ == "__main__":
    for _name in FORMS:
        for _op in plain_loops(_name):
            print(f"{_name}: {_op}")
    print(f"{len(FORMS)} forms")
