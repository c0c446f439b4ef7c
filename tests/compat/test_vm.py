"""`relay.vm`: compiling, calling functions by name, data types as results, setting inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byoc_lab.compat import relay, tvm
from byoc_lab.errors import (
    BuildError,
    InputError,
    InterpretedWarning,
    UnknownNameError,
    UnsupportedNameError,
)

ONES, THREES = np.ones(3, "float32"), np.full(3, 3, "float32")


def machine(mod: Any, **options: Any) -> Any:
    executable = relay.vm.compile(mod, "llvm", **options)
    return tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())


def difference() -> Any:
    a, b = relay.var("a", shape=(3,)), relay.var("b", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([a, b], a - b))
    x = relay.var("x", shape=(3,))
    mod["both"] = relay.Function([x], relay.Tuple([x + x, relay.Tuple([x])]))
    return mod


def test_functions_are_called_by_name() -> None:
    vm = machine(difference())
    np.testing.assert_array_equal(vm.invoke("main", THREES, b=ONES).numpy(), 2 * ONES)
    twice, (same,) = vm.invoke("both", tvm.nd.array(THREES))
    np.testing.assert_array_equal(twice.numpy(), 2 * same.numpy())
    assert [out.numpy()[0] for out in vm.get_outputs()] == [6, 3]
    with pytest.raises(UnknownNameError, match="the functions main, both, found 'other'"):
        vm.invoke("other")


def test_inputs_are_set_together_or_one_by_one() -> None:
    vm = machine(difference())
    vm.set_input("main", b=ONES, a=THREES)
    assert vm.run().numpy().tolist() == [2, 2, 2]
    vm.set_one_input("main", 0, ONES)
    assert vm.run().numpy().tolist() == [0, 0, 0]
    vm.set_one_input("main", "b", THREES)
    vm.set_one_input("main", a=THREES + 1)
    assert vm.run().numpy().tolist() == [1, 1, 1]
    for wrong, message in (((2, ONES), "takes a, b, found 2"), ((ONES,), "a number or name")):
        with pytest.raises(InputError, match=message):
            vm.set_one_input("main", *wrong)
    with pytest.raises(InputError, match="main was not given b"):
        machine(difference()).run(ONES)
    with pytest.raises(InputError, match=r"expected arguments \(a, b\), found 0, c"):
        machine(difference()).run(ONES, c=ONES)


def test_data_type_value_may_be_a_result() -> None:
    mod = tvm.IRModule()
    relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    reverse = mod.get_global_var("rev")
    mod["main"] = relay.Function([], reverse(cons(relay.const(1), cons(relay.const(2), nil()))))
    with pytest.warns(InterpretedWarning, match="cannot be compiled"):
        vm = machine(mod)
    head, tail = vm.invoke("main")
    assert isinstance(tail, tvm.runtime.container.ADT)
    assert (int(head.numpy()), int(tail[0].numpy()), tail.tag) == (2, 1, cons.tag)
    assert tail.constructor is not None and tail != vm.invoke("main")[1]


def test_region_that_cannot_be_built_raises_build_error() -> None:
    p, x = relay.var("p", shape=(3,)), relay.var("x", shape=(3,))
    inner = relay.Function([p], relay.erf(p))
    inner = inner.with_attrs({"Compiler": "dnnl", "global_symbol": "dnnl_0", "Primitive": 1})
    with pytest.raises(BuildError):
        relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], inner(x))), "llvm")


def test_programs_can_be_saved_timed_and_compiled_in_steps(tmp_path: Path) -> None:
    compiler = relay.vm.VMCompiler()
    compiler.set_params({"b": ONES})
    optimized, _ = compiler.optimize(difference(), "llvm")
    assert [p.name_hint for p in optimized["main"].params] == ["a"]
    compiler.lower(difference(), "llvm")
    executable = compiler.get_exec()
    executable.lib.export_library(tmp_path / "vm.so")
    vm = tvm.runtime.vm.VirtualMachine(tvm.runtime.load_module(tmp_path / "vm.so"), tvm.cpu())
    assert vm.run(THREES).numpy().tolist() == [2, 2, 2]
    times = vm.benchmark(tvm.cpu(), THREES, repeat=3, number=2)
    assert len(times.results) == 3 and 0 < times.min <= times.mean
    with pytest.raises(UnsupportedNameError, match="bytecode is not supported"):
        print(executable.bytecode)
