"""Arrays of tensors with one static type, as TVM's TensorFlow importer used them: lists under TVM's
names.

Source: names and types of `tvm.relay.prelude.StaticTensorArrayOps` in TVM 0.16.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from string import Template
from typing import Any, Protocol

from byoc_lab.relay.ir.dims.unknown import Any as AnyLength
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.text.parser import parse

_VERSION = '#[version = "0.0.5"]'

# One definition per paragraph. Name suffixes: `$here` for the shape itself, `$more` for the shape
# with an additional first axis of any size, `$less` for the shape without its first axis;
# capitalized, they are types. An unwritten element is the tensor_nil of its type.
_TYPE = """type static_tensor_${name}_t {
  tensor_nil_$name,
  tensor_constructor_$name($tensor),
}"""

_OF_ANY_RANK = """def @tensor_concatenate_$more(%x: $More, %y: $More) -> $More {
  match? (%x) {
    tensor_constructor_$more(%first) => match? (%y) {
      tensor_constructor_$more(%rest) => tensor_constructor_$more(concatenate((%first, %rest))),
    },
  }
}

def @tensor_get_data_$here(%tensor: $Here) -> $tensor {
  match? (%tensor) {
    tensor_constructor_$here(%data) => %data,
  }
}

def @tensor_expand_dims_$here(%tensor: $Here) -> $More {
  tensor_constructor_$more(expand_dims(@tensor_get_data_$here(%tensor), axis=0))
}

def @tensor_array_$here(%size: int32) -> List[$Here] {
  if (less(%size, 1)) {
    Nil
  } else {
    Cons(tensor_nil_$here, @tensor_array_$here(subtract(%size, 1)))
  }
}

def @tensor_array_read_$here(%array: List[$Here], %n: int32) -> $Here {
  @nth(%array, %n)
}

def @tensor_array_write_$here(%array: List[$Here], %n: int32, %v: $Here) -> List[$Here] {
  @update(%array, %n, %v)
}

def @tensor_array_stack_$here(%array: List[$Here]) -> $More {
  @foldr1(@tensor_concatenate_$more, @map(@tensor_expand_dims_$here, %array))
}

def @tensor_array_gather_$here(%array: List[$Here], %indices: Tensor[(?), int32]) -> $More {
  @tensor_array_stack_$here(@map(fn (%n: int32) -> $Here { @nth(%array, %n) }, $indices))
}

def @tensor_array_scatter_$here(%array: List[$Here], %indices: Tensor[(?), int32],
                                %values: List[$Here]) -> List[$Here] {
  @foldl(fn (%a: List[$Here], %to: (int32, $Here)) -> List[$Here] { @update(%a, %to.0, %to.1) },
         %array, @zip($indices, %values))
}"""

_OF_RANK_1 = """def @tensor_array_unstack_$here(%tensor: $tensor) -> List[$Less] {
  let %size = take(shape_of(%tensor, dtype="int32"), 0);
  @unfoldr(fn (%i: int32) -> Option[(int32, $Less)] {
    if (less(%i, %size)) {
      Some((add(%i, 1), tensor_constructor_$less(take(%tensor, %i, axis=0))))
    } else {
      None
    }
  }, 0)
}"""

# %indices as a list.
_INDICES = """@unfoldr(fn (%i: int32) -> Option[(int32, int32)] {
    if (less(%i, take(shape_of(%indices, dtype="int32"), 0))) {
      Some((add(%i, 1), take(%indices, %i)))
    } else {
      None
    }
  }, 0)"""

_NAME = re.compile(r"\w+ @?(\w+)")


def static_name(canonical: str, dtype: str, shape: Sequence[Any]) -> str:
    """TVM's name of a type ("tensor_t"), function or constructor for tensors of this type:
    "tensor_array_float32_2_any"."""
    ending = _ending(dtype, shape)
    return f"static_tensor_{ending}_t" if canonical == "tensor_t" else f"{canonical}_{ending}"


def _ending(dtype: str, shape: Sequence[Any]) -> str:
    lengths = ["any" if isinstance(n, AnyLength) else str(int(n)) for n in shape]
    return "_".join((dtype, *(lengths or ["scalar"])))


class HasModule(Protocol):
    """A `Prelude`."""

    mod: IRModule


class StaticTensorArrayOps:
    """The types and functions for arrays of tensors of a shape (of ints and `relay.Any()`).

    `register()` adds them to the prelude's module, where `prelude.get_global_var_static` and
    `get_tensor_ctor_static` find them: "tensor_array" (a new array of a given size),
    "tensor_array_" followed by read, write, scatter, gather, stack or unstack, "tensor_get_data",
    "tensor_expand_dims"     and "tensor_concatenate".
    """

    def __init__(self, prelude: HasModule, dtype: str, shape: Sequence[Any]):
        self.prelude = prelude
        self.dtype = dtype
        self.shape = tuple(shape)

    def get_name(self, canonical: str) -> str:
        """The name for this dtype and shape: "tensor_array_read_float32_2_3"."""
        return static_name(canonical, self.dtype, self.shape)

    def register(self) -> None:
        """Add the types and functions that the module lacks."""
        mod = self.prelude.mod
        have = {gv.name_hint for gv in mod.functions} | {v.name_hint for v in mod.type_definitions}
        named = ((_NAME.findall(text)[0], text) for text in self._definitions())
        lacking = [text for name, text in named if name not in have]
        mod.update(parse("\n\n".join((_VERSION, *lacking)), init_module=mod, infer=False))

    def _definitions(self) -> Iterator[str]:
        """The definitions for the shape, and the types of tensors that its functions return."""
        shapes = {"here": self.shape, "more": (AnyLength(), *self.shape)}
        if self.shape:
            shapes["less"] = self.shape[1:]
        words = {"indices": _INDICES, "tensor": str(TensorType(self.shape, self.dtype))}
        for word, shape in shapes.items():
            tensor, name = TensorType(shape, self.dtype), _ending(self.dtype, shape)
            yield Template(_TYPE).substitute(name=name, tensor=tensor)
            words |= {word: name, word.capitalize(): f"static_tensor_{name}_t[]"}
        for texts in (_OF_ANY_RANK, _OF_RANK_1) if self.shape else (_OF_ANY_RANK,):
            yield from Template(texts).substitute(words).split("\n\n")
