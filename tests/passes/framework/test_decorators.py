"""Passes made from functions and classes by decorators."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes import FunctionPass, ModulePass, PassContext, function_pass, module_pass
from byoc_lab.relay import Expr, Function, IRModule


def _module() -> IRModule:
    return IRModule.from_expr(relay.abs(relay.var("x", shape=(2, 2))))


def test_decorated_function_is_a_pass_with_its_name() -> None:
    @module_pass(opt_level=1, required=["InferType"])
    def count(mod: IRModule, ctx: PassContext) -> IRModule:
        return mod.with_attrs({"functions": len(mod.functions)})

    assert isinstance(count, ModulePass)
    assert (count.name, count.opt_level, count.required) == ("count", 1, ("InferType",))
    assert count(_module()).attrs["functions"] == 1


def test_decorated_class_keeps_name_documentation_arguments_and_attributes() -> None:
    @function_pass(opt_level=2, name="scaling")
    class Scale:
        """Multiplies the result."""

        def __init__(self, factor: float):
            self.factor = factor

        def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
            return func.replace(body=func.body * relay.const(self.factor))

    made = Scale(3.0)
    assert isinstance(made, FunctionPass) and isinstance(made, Scale)
    assert (made.factor, made.name, Scale.__name__) == (3.0, "scaling", "Scale")
    assert Scale.__doc__ == "Multiplies the result."
    assert made(_module())["main"].body.is_op("multiply")


def test_error_of_a_decorated_class_s_init_is_raised_unchanged() -> None:
    @module_pass(opt_level=0)
    class Refuses:
        def __init__(self) -> None:
            raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        Refuses()


def test_function_pass_that_returns_no_function_raises_pass_error() -> None:
    @function_pass(opt_level=0)
    def body(func: Function, mod: IRModule, ctx: PassContext) -> Expr:
        return func.body

    with pytest.raises(PassError, match="body must return a Function, found Call"):
        body(_module())


@pytest.mark.parametrize("decorator", [module_pass, function_pass])
def test_decorators_refuse_invalid_arguments(decorator) -> None:
    with pytest.raises(ValueError, match="opt_level"):
        decorator(lambda mod, ctx: mod)
    with pytest.raises(TypeError, match="required must be a list or tuple"):
        decorator(opt_level=0, required="InferType")
    with pytest.raises(TypeError, match="must be a function or a class, found 3"):
        decorator(3, opt_level=0)


def test_module_in_place_of_options_is_refused_unless_it_is_an_option() -> None:
    @module_pass(opt_level=1)
    class Replace:
        def __init__(self, by: relay.IRModule):
            self.by = by

        def transform_module(self, mod: relay.IRModule, ctx: object) -> relay.IRModule:
            return self.by

    @module_pass(opt_level=1)
    class Keep:
        def transform_module(self, mod: relay.IRModule, ctx: object) -> relay.IRModule:
            return mod

    mod, other = relay.IRModule(), relay.IRModule()
    assert Replace(other)(mod) is other
    with pytest.raises(PassError, match="Keep was given a module in place of its options"):
        Keep(mod)
