"""ChangeBatch: the parameters of a function get another batch size.

`fn (%data: Tensor[(1, 3, 32, 32), float32]) { ... }`, made over for 16 images at a time:
`fn (%data: Tensor[(16, 3, 32, 32), float32]) { ... }`. What the body makes of it is inferred anew;
shapes that are written down in it, as reshape's, stay as they are.

Source: python/tvm/relay/transform/transform.py of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.base import FunctionPass, PassContext
from byoc_lab.relay.expr import Function, Var
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.types import TensorType
from byoc_lab.relay.visit import rebuild


class ChangeBatch(FunctionPass):
    """Make `batch_size` the size of the dimension `data[variable]` of each variable in `data`.

    Raises PassError for a variable that is no parameter in the module (InferType gives a module
    parameters of its own), is not annotated with a tensor type, or has no such dimension.
    """

    opt_level = 1
    needs_types = False

    def __init__(self, data: Mapping[Var, int], batch_size: int = 16):
        self.data, self.batch_size = dict(data), batch_size

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        parameters = {p for func in mod.functions.values() for p in func.params}
        for variable in self.data:
            if variable not in parameters:
                raise PassError(
                    f"ChangeBatch: %{variable.name_hint} is no parameter of the module's functions;"
                    f" take it from the params of the very module, as mod['main'].params[0]"
                )
        return super().run(mod, ctx)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        def change(pre: Any, post: Any) -> Any:
            if pre in self.data:
                return self._changed(pre)
            if pre is func:  # the type of the result follows from the parameters
                return Function(post.params, post.body, None, post.type_params, post.attrs)
            return post

        return rebuild(func, change)

    def _changed(self, variable: Var) -> Var:
        ty, dimension = variable.type_annotation, self.data[variable]
        if not isinstance(ty, TensorType) or not -len(ty.shape) <= dimension < len(ty.shape):
            raise PassError(
                f"ChangeBatch: %{variable.name_hint} has no dimension {dimension} to change, its "
                f"annotation is {ty}"
            )
        shape = list(ty.shape)
        shape[dimension] = self.batch_size
        return Var(variable.name_hint, TensorType(shape, ty.dtype))
