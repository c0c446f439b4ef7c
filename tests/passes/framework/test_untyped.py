"""Passes on modules without inferred types, as scripts often run them."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.compat.passes import (
    InlineCompilerFunctionsBoundTo,
    OutlineCompilerFunctionsWithExistingGlobalSymbols,
)
from byoc_lab.errors import TypeInferenceError
from byoc_lab.passes import Pass, make_pass
from byoc_lab.relay import IRModule, structural_equal
from byoc_lab.relay.typing.infer import infer_module


def _module() -> IRModule:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.const([[[[1.0]]]] * 3)
    conv = relay.nn.conv2d(x, w, kernel_size=(1, 1), groups=3)
    return IRModule.from_expr(relay.nn.relu(conv) + relay.const(1.0) * relay.const(2.0))


@pytest.mark.parametrize(
    "name",
    ["DefuseOps", "FoldConstant", "MergeCompilerRegions", "SimplifyInference", "ToGraphNormalForm"],
)
def test_pass_that_needs_types_infers_them(name: str) -> None:
    run = make_pass(name)
    out = run(_module())
    assert out["main"].is_typed
    assert structural_equal(out, run(infer_module(_module())))


def _calls(**attrs: object) -> IRModule:
    p, x = relay.var("p", shape=(2,)), relay.var("x", shape=(2,))
    function = relay.Function([p], relay.abs(p))
    for name, value in attrs.items():
        function = function.with_attr(name, value)
    gv = relay.GlobalVar("f")
    return IRModule({gv: function, "main": relay.Function([x], relay.exp(gv(x)))})


@pytest.mark.parametrize(
    ("run", "mod"),
    [
        (make_pass("Inline"), _calls(Inline=1)),
        (InlineCompilerFunctionsBoundTo(["f"]), _calls(Compiler="a", global_symbol="f")),
        (OutlineCompilerFunctionsWithExistingGlobalSymbols("a"), _calls(Inline=1)),
    ],
)
def test_pass_that_needs_no_types_infers_none(run: Pass, mod: IRModule) -> None:
    """As in TVM, so that the result equals a module written without types."""
    out = run(mod)
    assert not out["main"].is_typed and out["main"].ret_type is None
    assert run(infer_module(mod))["main"].is_typed
    assert structural_equal(infer_module(out), run(infer_module(mod)))


def test_untypable_module_raises_type_inference_error() -> None:
    untyped = IRModule.from_expr(relay.nn.relu(relay.var("x")) + relay.var("y", shape=(2,)))
    bad = IRModule.from_expr(relay.var("x", shape=(3,)) + relay.var("y", shape=(2,)))
    for mod in (untyped, bad):
        with pytest.raises(TypeInferenceError):
            make_pass("FoldConstant")(mod)


def test_incomplete_type_annotation_is_completed() -> None:
    x, alpha = relay.var("x", shape=(1, 3)), relay.var("alpha", relay.IncompleteType())
    body = relay.nn.prelu(x, alpha)
    main = infer_module(IRModule.from_expr(relay.Function([x, alpha], body)))["main"]
    assert main.params[1].type_annotation == relay.TensorType((3,))
