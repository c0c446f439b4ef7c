"""Variables for which TVM's passes fail: reported by name, as findings and as errors."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab.errors import FreeVariableError, WellFormedError
from byoc_lab.relax import coverage, explain, partition_for_dnnl
from byoc_lab.relax.ir.variables import variable_faults

from ..tracing.networks import SMALL, relu_module, tensor, tvm

relax = tvm.relax


def with_free_variable() -> Any:
    main = relu_module()["main"]
    other = relax.Function([relax.Var("q", tensor((2, 4)))], main.body, main.ret_ty)
    return tvm.IRModule({"main": other.with_attr("global_symbol", "main")})


def with_shared_body() -> Any:
    mod = relu_module()
    mod["decode"] = mod["main"].with_attr("global_symbol", "decode")
    return mod


def test_modules_accepted_by_passes_have_no_finding() -> None:
    for mod in (SMALL, partition_for_dnnl(SMALL), relax.transform.LegalizeOps()(SMALL)):
        assert list(variable_faults(mod)) == []


@pytest.mark.parametrize("ask", [explain, coverage, partition_for_dnnl])
def test_free_variable_is_named(ask: Any) -> None:
    mod = with_free_variable()
    (found,) = byoc_lab.lint(mod)
    assert found.code == "BYR005" and found.message == "@main uses %x, which nothing in it binds"
    with pytest.raises(FreeVariableError, match="@main uses %x, which nothing in it binds") as info:
        ask(mod)
    assert [v.name for v in info.value.variables] == ["x"]


@pytest.mark.parametrize("ask", [explain, coverage, partition_for_dnnl])
def test_a_body_shared_by_two_functions_is_reported(ask: Any) -> None:
    mod = with_shared_body()
    (found,) = byoc_lab.lint(mod)
    assert found.code == "BYR006" and "@decode binds the same" in found.message
    with pytest.raises(WellFormedError, match="copy_with_new_vars"):
        ask(mod)
    mod["decode"] = relax.utils.copy_with_new_vars(mod["decode"])
    assert list(variable_faults(mod)) == []
    assert len(byoc_lab.relax.explain(mod)) == 2
