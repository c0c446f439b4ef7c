"""ConvertLayout: converts convolutions, pools and resizes to the desired layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from byoc_lab.errors import PassError, counted
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.layout.alter_op_layout import flat_types
from byoc_lab.passes.layout.legalize import replacement
from byoc_lab.passes.layout.transform_layout import LayoutRewriter
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.op import register_op_attr

DEFAULT = "default"


class LayoutConfig:
    """`with LayoutConfig(skip_layers=[0]):` keeps the layout of the first convolution.

    skip_layers: positions (in evaluation order) of the nn.conv2d calls that keep their layout.
    """

    current: LayoutConfig | None = None

    def __init__(self, skip_layers: Sequence[int] | None = None):
        self.skip_counter = 0
        self.skip_layers = list(skip_layers or ())

    def check_skip(self) -> bool:
        """Count the next convolution; returns whether it keeps its layout."""
        self.skip_counter += 1
        return self.skip_counter - 1 in self.skip_layers

    def reset(self) -> None:
        self.skip_counter, self.skip_layers = 0, []

    def __enter__(self) -> LayoutConfig:
        self._outer, LayoutConfig.current = LayoutConfig.current, self
        return self

    def __exit__(self, *exc: object) -> None:
        LayoutConfig.current = self._outer


class ConvertLayout(FunctionPass):
    """Convert convolutions, pools and resizes to the desired layouts.

    `ConvertLayout({"nn.conv2d": ["NHWC", "default"]})` lists for each operator the layouts of its
    data and of its weight, if it has one; "default" is the weight layout that belongs to the data
    layout. Operators around it follow, or get `layout_transform`s.

    The table below lists the attributes with the layouts and the default layouts. For other
    operators, `relay.op.register_convert_op_layout` registers a user's function (the operator's
    attribute "FTVMConvertOpLayout"): `function(attrs, args, arg_types, desired_layouts)` returns a
    call, or None.

    desired_layouts: by operator name, the layout of each argument that has a layout.

    Source: src/relay/transforms/convert_layout.cc and the `register_convert_op_layout` functions of
    python/tvm/relay of TVM 0.16.
    """

    opt_level = 3
    required = ("InferType", "CanonicalizeOps")

    def __init__(self, desired_layouts: Mapping[str, Sequence[str]]):
        self.desired_layouts = {op: list(wanted) for op, wanted in desired_layouts.items()}

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return LayoutRewriter(func, self._converted).run()

    def _converted(self, call: Call, args: Sequence[Expr]) -> Call | None:
        assert isinstance(call.op, Op)
        convert = call.op.get_attr("FTVMConvertOpLayout")
        wanted = self.desired_layouts.get(call.op.name)
        if convert is None or wanted is None:
            return None
        new = convert(call.attrs, list(args), flat_types(call), wanted)
        return None if new is None else replacement(new, "FTVMConvertOpLayout", call)


@dataclass(frozen=True)
class _Converter:
    """The attributes that state an operator's layouts.

    data, kernel: the attributes for the layout of the data (all of them get it) and the weight.
    weights: data layout -> default weight layout. Empty for operators without a weight; their data
    may have any layout.
    depthwise: as `weights`, for depthwise convolutions, if different.
    """

    data: tuple[str, ...]
    kernel: str | None = None
    weights: Mapping[str, str] = field(default_factory=dict)
    depthwise: Mapping[str, str] = field(default_factory=dict)
    skips: bool = False

    def convert(
        self, op: Op, attrs: Attrs, args: Sequence[Expr], types: Sequence[Any], wanted: Any
    ) -> Call:
        """The call of `op` in the layouts `wanted`. Raises PassError for an unsupported layout."""
        if self.skips and LayoutConfig.current is not None and LayoutConfig.current.check_skip():
            return Call(op, args, attrs)
        count = 1 if self.kernel is None else 2
        if len(wanted) != count or wanted[0] == DEFAULT:
            raise PassError(
                f"ConvertLayout needs {counted(count, 'layout')} for {op.name}, of which "
                f"only that of a weight may be 'default', found {list(wanted)}"
            )
        changes = dict.fromkeys(self.data, str(wanted[0]))
        if self.kernel is not None:
            changes[self.kernel] = str(wanted[1])
            if wanted[1] == DEFAULT:
                changes[self.kernel] = self._default_weight(op, attrs, types, str(wanted[0]))
        return Call(op, args, attrs.replace(**changes))

    def _default_weight(self, op: Op, attrs: Attrs, types: Sequence[Any], data: str) -> str:
        if data not in self.weights:
            raise PassError(
                f"{op.name} has no default layout of its weight for data in {data}, only for "
                f"{', '.join(self.weights)}; name the weight's layout, too"
            )
        if data in self.depthwise and is_depthwise(attrs, types):
            return self.depthwise[data]
        return self.weights[data]


def is_depthwise(attrs: Attrs, types: Sequence[Any]) -> bool:
    """Whether each channel is one group; types: of the data and the weight."""
    inputs = types[0].shape[attrs.data_layout.index("C")]
    outputs = types[1].shape[attrs.kernel_layout.index("O")]
    return inputs == outputs == attrs.groups


_CONV2D = {"NCHW": "OIHW", "NHWC": "HWIO"}
_CONV2D_TRANSPOSE = _Converter(("data_layout",), "kernel_layout", {"NCHW": "IOHW", "NHWC": "HWIO"})
_POOL = _Converter(("layout", "out_layout"))
_RESIZE = _Converter(("layout",))
CONVERTERS: Mapping[str, _Converter] = {
    "nn.conv2d": _Converter(
        ("data_layout",),
        "kernel_layout",
        {**_CONV2D, "HWNC": "HWOI"},
        depthwise={"NHWC": "HWOI"},
        skips=True,
    ),
    "qnn.conv2d": _Converter(
        ("data_layout",), "kernel_layout", _CONV2D, depthwise={"NHWC": "HWOI"}
    ),
    "nn.conv2d_transpose": _CONV2D_TRANSPOSE,
    "qnn.conv2d_transpose": _CONV2D_TRANSPOSE,
    "nn.conv3d": _Converter(
        ("data_layout",), "kernel_layout", {"NCDHW": "OIDHW", "NDHWC": "DHWIO"}
    ),
    "nn.conv3d_transpose": _Converter(
        ("data_layout",), "kernel_layout", {"NCDHW": "IODHW", "NDHWC": "DHWOI"}
    ),
    "nn.max_pool2d": _POOL,
    "nn.avg_pool2d": _POOL,
    "nn.global_max_pool2d": _POOL,
    "nn.global_avg_pool2d": _POOL,
    "qnn.avg_pool2d": _POOL,
    "image.resize1d": _RESIZE,
    "image.resize2d": _RESIZE,
}


def _function(op: Op, converter: _Converter) -> Callable[..., Call]:
    def convert(attrs: Attrs, inputs: Sequence[Expr], types: Sequence[Type], wanted: Any) -> Call:
        return converter.convert(op, attrs, inputs, types, wanted)

    return convert


for _name, _converter in CONVERTERS.items():
    register_op_attr(_name, "FTVMConvertOpLayout", _function(Op.get(_name), _converter))
