"""PyTorch networks for `inference.py` that `relay.testing` lacks: with the shapes of the networks
that they are named after, and random weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def _conv(
    before: int, after: int, size: int, stride: int = 1, groups: int = 1,
    activation: type[nn.Module] | None = nn.ReLU,
) -> nn.Sequential:  # fmt: skip
    """A convolution with a batch norm and an activation."""
    conv = nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(after), *([activation()] if activation else []))


class _Squeeze(nn.Module):
    """Squeeze-and-excitation: scales channels by weights that depend on all channels."""

    def __init__(self, channels: int):
        super().__init__()
        self.weigh = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, channels // 4, 1), nn.ReLU(),
            nn.Conv2d(channels // 4, channels, 1), nn.Hardsigmoid(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weigh(x)


class _Inverted(nn.Module):
    """The block of MobileNet v3: expansion, depthwise convolution, projection."""

    def __init__(
        self, before: int, wide: int, after: int, size: int, stride: int, squeezed: bool, hard: bool
    ):
        super().__init__()
        activation = nn.Hardswish if hard else nn.ReLU
        self.adds = before == after and stride == 1
        self.body = nn.Sequential(
            *([_conv(before, wide, 1, activation=activation)] if wide != before else []),
            _conv(wide, wide, size, stride, wide, activation),
            *([_Squeeze(wide)] if squeezed else []),
            _conv(wide, after, 1, activation=None),
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        return x + y if self.adds else y


# MobileNet v3 large: kernel size, inner channels, result channels, squeeze, hard-swish, stride.
_V3 = (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
)  # fmt: skip


def _v3_blocks(width: float = 1.0, strides: Sequence[int] | None = None) -> list[_Inverted]:
    blocks, before = [], int(16 * width)
    for n, (size, wide, after, squeezed, hard, stride) in enumerate(_V3):
        channels = int(wide * width), int(after * width)
        each = stride if strides is None else strides[n]
        blocks.append(_Inverted(before, *channels, size, each, squeezed, hard))
        before = channels[1]
    return blocks


def mobilenet_v3() -> nn.Module:
    return nn.Sequential(
        _conv(3, 16, 3, 2, activation=nn.Hardswish), *_v3_blocks(),
        _conv(160, 960, 1, activation=nn.Hardswish), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(960, 1280), nn.Hardswish(), nn.Linear(1280, 1000),
    )  # fmt: skip


class _Shuffled(nn.Module):
    """The block of ShuffleNet v2: half of the channels are unchanged, then the halves are
    shuffled."""

    def __init__(self, before: int, after: int, stride: int):
        super().__init__()
        half = after // 2
        self.stride = stride
        inside = before if stride == 2 else half
        self.right = nn.Sequential(
            _conv(inside, half, 1), _conv(half, half, 3, stride, half, None), _conv(half, half, 1)
        )
        if stride == 2:
            self.left = nn.Sequential(
                _conv(before, before, 3, 2, before, None), _conv(before, half, 1)
            )

    def forward(self, x: Tensor) -> Tensor:
        if self.stride == 2:
            both = torch.cat((self.left(x), self.right(x)), 1)
        else:
            kept, changed = x.chunk(2, 1)
            both = torch.cat((kept, self.right(changed)), 1)
        n, c, h, w = both.shape
        return both.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


def shufflenet_v2() -> nn.Module:
    blocks: list[nn.Module] = []
    before = 24
    for after, count in ((116, 4), (232, 8), (464, 4)):
        for n in range(count):
            blocks.append(_Shuffled(before, after, 2 if n == 0 else 1))
            before = after
    return nn.Sequential(
        _conv(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1), *blocks, _conv(before, 1024, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000),
    )  # fmt: skip


class _Detector(nn.Module):
    """A thin MobileNet v3, a feature pyramid, and a map of text positions."""

    ENDS = (2, 5, 11, 14)
    WIDTH = 0.5

    def __init__(self) -> None:
        super().__init__()
        self.first = _conv(3, 8, 3, 2, activation=nn.Hardswish)
        self.blocks = nn.ModuleList(_v3_blocks(self.WIDTH))
        channels = [int(_V3[n][2] * self.WIDTH) for n in self.ENDS]
        self.lateral = nn.ModuleList(nn.Conv2d(c, 96, 1, bias=False) for c in channels)
        self.smooth = nn.ModuleList(nn.Conv2d(96, 24, 3, 1, 1, bias=False) for _ in channels)
        self.head = nn.Sequential(
            _conv(96, 24, 3),
            nn.ConvTranspose2d(24, 24, 2, 2), nn.BatchNorm2d(24), nn.ReLU(),
            nn.ConvTranspose2d(24, 1, 2, 2), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        x, features = self.first(x), []
        for n, block in enumerate(self.blocks):
            x = block(x)
            if n in self.ENDS:
                features.append(x)
        up: list[Tensor] = []
        for feature, lateral in zip(features[::-1], list(self.lateral)[::-1], strict=True):
            own = lateral(feature)
            up.append(own if not up else own + nn.functional.interpolate(up[-1], scale_factor=2))
        levels = [
            nn.functional.interpolate(smooth(u), scale_factor=2**n)
            for n, (smooth, u) in enumerate(zip(self.smooth, up[::-1], strict=True))
        ]
        found: Tensor = self.head(torch.cat(levels[::-1], 1))
        return found


class _Recognizer(nn.Module):
    """The columns of an image of a text line, processed by a bidirectional LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.columns = nn.Sequential(
            _conv(3, 32, 3, 2), _conv(32, 32, 3, 1, 32), _conv(32, 64, 1), nn.MaxPool2d((2, 1)),
            _conv(64, 64, 3, 1, 64), _conv(64, 128, 1), nn.MaxPool2d((2, 1)),
            _conv(128, 128, 3, 1, 128), _conv(128, 256, 1), nn.MaxPool2d((2, 1)),
            _conv(256, 288, 1), nn.AvgPool2d((3, 2)),
        )  # fmt: skip
        self.reader = nn.LSTM(288, 48, bidirectional=True, num_layers=2, batch_first=True)
        self.letters = nn.Linear(96, 6625)

    def forward(self, x: Tensor) -> Tensor:
        read, _ = self.reader(self.columns(x).squeeze(2).transpose(1, 2))
        return self.letters(read).softmax(2)


def bert_layer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)


class _Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(128, 256, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        values: Tensor = self.lstm(x)[0]
        return values


_MAKE = {
    "mobilenet-v3": mobilenet_v3,
    "shufflenet-v2": shufflenet_v2,
    "text detection": _Detector,
    "text recognition": _Recognizer,
    "bert layer": bert_layer,
    "lstm": _Lstm,
}


def network(name: str) -> nn.Module:
    """A network with random weights, and batch norms that differ from the identity."""
    torch.manual_seed(0)
    made = _MAKE[name]().eval()
    for module in made.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            nn.init.normal_(module.running_mean, 0, 0.1)
    return made
