"""Kinds: type constructors must be defined and have the right number of arguments."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.compat.ir.prelude import Prelude
from byoc_lab.errors import TypeInferenceError, UnknownNameError
from byoc_lab.relay import IRModule, TensorType, TupleType
from byoc_lab.relay.ir.types import TypeKind
from byoc_lab.relay.typing.adt_kinds import check_kind


@pytest.fixture
def module() -> IRModule:
    mod = IRModule()
    Prelude(mod)
    return mod


def test_tensors_and_applied_type_constructors_are_types(module: IRModule) -> None:
    tensor = TensorType((2,))
    listed = module.get_global_type_var("List")(tensor)
    assert check_kind(tensor) == TypeKind.Type
    assert check_kind(TupleType([listed, tensor]), module) == TypeKind.Type


def test_type_constructor_without_arguments_is_not_a_type(module: IRModule) -> None:
    assert check_kind(module.get_global_type_var("List"), module) == TypeKind.AdtHandle
    with pytest.raises(TypeInferenceError):
        check_kind(TupleType([module.get_global_type_var("List")]), module)


def test_wrong_number_of_type_arguments_is_refused(module: IRModule) -> None:
    tensor = TensorType((2,))
    with pytest.raises(TypeInferenceError, match="found 2"):
        check_kind(module.get_global_type_var("List")(tensor, tensor), module)


def test_undefined_type_is_refused() -> None:
    with pytest.raises((TypeInferenceError, UnknownNameError), match="Nope"):
        check_kind(relay.GlobalTypeVar("Nope")(TensorType((2,))), IRModule())
