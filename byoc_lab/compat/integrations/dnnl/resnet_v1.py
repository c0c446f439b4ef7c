"""Moves the strides of residual blocks to the earliest convolutions, which saves most work.

The first block of a ResNet v1 stage halves the image in its 1 x 1 convolutions, so the block before
it computes four times as many pixels as are read. With c(k, s) for a convolution of k x k and
stride s (followed by a bias and relu),

    x -> c(1,1) -> c(3,1) -> c(1,1) + x -> c(1,2) -> c(3,1) -> c(1,1)
                                        \\-> c(1,2) ------------------> +

becomes, with the same results,

    x -> c(1,1) -> c(3,2) -> c(1,1) + x[::2, ::2] -> c(1,1) -> c(3,1) -> c(1,1)
                                                  \\-> c(1,1) ----------------> +

Source: python/tvm/relay/op/contrib/dnnl.py of TVM 0.16 (name and result), which moves strides
without checking the other attributes of the convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.passes.framework.passes import register_pass
from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op import builder
from byoc_lab.relay.patterns import DFPattern, DFPatternCallback, is_op, wildcard

NodeMap = dict[DFPattern, list[Expr]]
HALF, WHOLE = (2, 2), (1, 1)
# The seven convolutions in the order of their computation, the shortcut last: kernel and strides.
WINDOWS = (
    ((1, 1), None), ((3, 3), WHOLE), ((1, 1), WHOLE),
    ((1, 1), HALF), ((3, 3), None), ((1, 1), None), ((1, 1), HALF),
)  # fmt: skip
MOVED = {1: HALF, 3: WHOLE, 6: WHOLE}  # {index: new stride}
THINNED = (1, 2)  # now computed at every second pixel only
POINTS = (2, 3, 6)  # 1 x 1 convolutions that must not pad


class ResNetV1Rewrite(DFPatternCallback):
    """Rewrites two residual blocks, the second of which halves the image, so that the first one
    halves it.

    Blocks are unchanged if a 1 x 1 convolution has padding or a bias differs between pixels.
    """

    def __init__(self) -> None:
        super().__init__()
        self.data = wildcard()
        self.weights = [wildcard() for _ in WINDOWS]
        self.biases = [wildcard() for _ in WINDOWS]
        self.convs: list[DFPattern] = []
        relu, add = is_op("nn.relu"), is_op("add")
        first = relu(self._biased(relu(self._biased(self.data))))
        block = relu(add(self._biased(first), self.data))
        inner = relu(self._biased(relu(self._biased(block))))
        self.pattern = relu(add(self._biased(inner), self._biased(block)))

    def _biased(self, data: DFPattern) -> DFPattern:
        n = len(self.convs)
        kernel, strides = WINDOWS[n]
        asked = {"kernel_size": list(kernel), **({"strides": list(strides)} if strides else {})}
        self.convs.append(is_op("nn.conv2d")(data, self.weights[n]).has_attr(asked))
        return is_op("add")(self.convs[n], self.biases[n])

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        convs = [node_map[pattern][0] for pattern in self.convs]
        biases = [node_map[pattern][0] for pattern in self.biases]
        if any(_pads(convs[n]) for n in POINTS) or not all(
            _is_of_channels(biases[n], convs[n]) for n in THINNED
        ):
            return post
        data = node_map[self.data][0]

        def biased(n: int, operand: Expr) -> Expr:
            conv = convs[n]
            assert isinstance(conv, Call) and conv.attrs is not None
            attrs = conv.attrs.replace(strides=MOVED[n]) if n in MOVED else conv.attrs
            made = Call(conv.op, [operand, node_map[self.weights[n]][0]], attrs)
            return _add(made, biases[n])

        layout = convs[2].attrs.data_layout  # type: ignore[attr-defined]
        thinned = nn.max_pool2d(data, pool_size=(1, 1), strides=HALF, layout=layout)
        first = nn.relu(biased(1, nn.relu(biased(0, data))))
        block = nn.relu(_add(biased(2, first), thinned))
        inner = nn.relu(biased(4, nn.relu(biased(3, block))))
        result: Expr = nn.relu(_add(biased(5, inner), biased(6, block)))
        return result


def _add(a: Expr, b: Expr) -> Expr:
    call: Expr = builder(Op.get("add"))(a, b)
    return call


def _pads(conv: Expr) -> bool:
    return any(conv.attrs.padding)  # type: ignore[attr-defined]


def _is_of_channels(bias: Expr, conv: Expr) -> bool:
    """Whether the bias of a convolution is the same at every pixel."""
    if not bias.is_typed:
        return False
    attrs, shape = conv.attrs, bias.checked_type.shape  # type: ignore[attr-defined]
    layout = attrs.out_layout or attrs.data_layout
    places = [layout.index(axis) - len(layout) + len(shape) for axis in "HW"]
    return all(place < 0 or shape[place] == 1 for place in places)


class RewriteResNetV1(PatternRewrite):
    """Moves the strides of ResNet v1 stages into the preceding block."""

    reason = "a block need not compute pixels that the next block does not read"

    def callbacks(self) -> Sequence[DFPatternCallback]:
        return [ResNetV1Rewrite()]


def rewrite_resnetv1(mod: IRModule) -> IRModule:
    """`mod` after RewriteResNetV1."""
    return RewriteResNetV1()(mod)


register_pass(RewriteResNetV1.__name__, RewriteResNetV1)
