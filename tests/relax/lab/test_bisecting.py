"""`bisect` of Relax modules: finds the pass that changed the numbers, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab.errors import ImporterError, InputError

from ..test_executable import two_regions
from ..test_partition import module, random, symbol, var
from ..tracing.networks import relax, tvm

op = relax.op


def halves(mod: Any) -> Any:
    """A wrong pass: replaces each relu by a relu of half the value."""

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            if call.op == tvm.ir.Op.get("relax.nn.relu"):
                half = relax.const(np.float32(0.5))
                return op.nn.relu(self.builder_.emit(op.multiply(call.args[0], half)))
            return call

    mutator = Mutator(mod)
    mutator.builder_.update_func(mod.get_global_var("main"), mutator.visit_expr(mod["main"]))
    return mutator.builder_.get()


def network() -> Any:
    def body(emit: Any, x: Any) -> Any:
        return emit(op.nn.softmax(emit(op.nn.relu(emit(op.tanh(x))))))

    return module([var("x", 4, 8)], body)


@pytest.mark.parametrize("inputs", [None, [random(4, 8)]])
def test_pass_that_changed_the_numbers_is_named(inputs: Any) -> None:
    found = byoc_lab.bisect(network(), ["FoldConstant", halves, "CanonicalizeBindings"], inputs)
    assert found.stage == "halves"
    assert found.call is not None and found.call.is_op("multiply")


def test_bisect_of_correct_passes_finds_no_difference() -> None:
    found = byoc_lab.bisect(two_regions(), "dnnl")
    assert found.stage is None and "no difference found" in str(found)


def test_region_with_a_split_is_checked_kernel_by_kernel() -> None:
    def body(emit: Any, x: Any) -> Any:
        parts = emit(op.split(emit(op.nn.relu(x)), 2, axis=1))
        return emit(op.nn.softmax(emit(op.concat((parts[1], parts[0]), axis=1))))

    found = byoc_lab.bisect(module([var("x", 4, 8)], body), "dnnl")
    assert found.unchecked == () and "the code of 1 region was checked" in str(found)


def test_regions_of_an_unregistered_back_end_are_listed_as_unchecked() -> None:
    table = [("unregistered.relu", relax.dpl.is_op("relax.nn.relu")(relax.dpl.wildcard()))]
    passes = [relax.transform.FuseOpsByPattern(table), relax.transform.MergeCompositeFunctions()]
    mod = module([var("x", 4, 8)], lambda emit, x: emit(op.nn.relu(x)))
    found = byoc_lab.bisect(mod, passes)
    assert not found and len(found.unchecked) == 1
    assert "relax.register('unregistered', codegen=...) registers one" in str(found)


@pytest.mark.parametrize(("inputs", "size"), [(None, 2), ([random(5, 8)], 5)])
def test_module_with_unknown_batch_runs_with_a_chosen_size(inputs: Any, size: int) -> None:
    mod = module([var("x", symbol("n"), 8)], lambda emit, x: emit(op.nn.relu(x)))
    found = byoc_lab.bisect(mod, "dnnl", inputs)
    assert f"the passes ran on the module with n = {size}, unknown in the module" in found.exercised
    assert "no difference found" in str(found)


def test_input_without_the_axis_of_an_unknown_size_is_refused() -> None:
    mod = module([var("x", symbol("n"), 8)], lambda emit, x: emit(op.nn.relu(x)))
    with pytest.raises(InputError, match=r"gives the size n in axis 0, found shape \(\)"):
        byoc_lab.bisect(mod, "dnnl", [np.float32(1)])


def test_module_with_code_below_operators_raises_importer_error() -> None:
    with pytest.raises(ImporterError):
        byoc_lab.bisect(network(), ["LegalizeOps"])
