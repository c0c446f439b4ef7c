"""PyTorch networks for tests: well-known architectures with few classes and small images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class BasicBlock(nn.Module):
    """Two convolutions with a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))

    def forward(self, x: Any) -> Any:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet18(nn.Module):
    def __init__(self, width: int = 64, classes: int = 10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        blocks, inputs = [], width
        for stage in range(4):
            outputs = width << stage
            blocks += [BasicBlock(inputs, outputs, 2 if stage else 1), BasicBlock(outputs, outputs)]
            inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x: Any) -> Any:
        return self.fc(torch.flatten(self.avgpool(self.blocks(self.stem(x))), 1))


def _conv_bn(inputs: int, outputs: int, size: int, stride: int, groups: int, act: Any) -> Any:
    layers = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([act(inplace=True)] if act else []))


class InvertedResidual(nn.Module):
    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        size: int,
        stride: int,
        act: Any,
        squeeze: bool,
    ):
        super().__init__()
        self.shortcut = stride == 1 and inputs == outputs
        layers = [_conv_bn(inputs, hidden, 1, 1, 1, act)] if hidden != inputs else []
        layers.append(_conv_bn(hidden, hidden, size, stride, hidden, act))
        layers += [SqueezeExcitation(hidden)] if squeeze else []
        layers.append(_conv_bn(hidden, outputs, 1, 1, 1, None))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        return x + self.layers(x) if self.shortcut else self.layers(x)


class SqueezeExcitation(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.down = nn.Conv2d(channels, channels // 4, 1)
        self.up = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: Any) -> Any:
        return F.hardsigmoid(self.up(F.relu(self.down(self.pool(x))))) * x


class MobileNetV2(nn.Module):
    # expansion, channels, blocks, stride
    STAGES = (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
        (6, 320, 1, 1),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        layers: list[Any] = [_conv_bn(3, 32, 3, 2, 1, nn.ReLU6)]
        inputs = 32
        for expansion, outputs, count, stride in self.STAGES:
            for i in range(count):
                hidden = inputs * expansion
                step = stride if i == 0 else 1
                layers.append(InvertedResidual(inputs, hidden, outputs, 3, step, nn.ReLU6, False))
                inputs = outputs
        self.features = nn.Sequential(*layers, _conv_bn(inputs, 1280, 1, 1, 1, nn.ReLU6))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 10))

    def forward(self, x: Any) -> Any:
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class MobileNetV3(nn.Module):
    """The small MobileNetV3."""

    # kernel, hidden, channels, squeeze and excitation, activation, stride
    STAGES = (
        (3, 16, 16, True, nn.ReLU, 2), (3, 72, 24, False, nn.ReLU, 2),
        (3, 88, 24, False, nn.ReLU, 1), (5, 96, 40, True, nn.Hardswish, 2),
        (5, 240, 40, True, nn.Hardswish, 1), (5, 240, 40, True, nn.Hardswish, 1),
        (5, 120, 48, True, nn.Hardswish, 1), (5, 144, 48, True, nn.Hardswish, 1),
        (5, 288, 96, True, nn.Hardswish, 2), (5, 576, 96, True, nn.Hardswish, 1),
        (5, 576, 96, True, nn.Hardswish, 1),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        layers: list[Any] = [_conv_bn(3, 16, 3, 2, 1, nn.Hardswish)]
        inputs = 16
        for size, hidden, outputs, squeeze, act, stride in self.STAGES:
            layers.append(InvertedResidual(inputs, hidden, outputs, size, stride, act, squeeze))
            inputs = outputs
        self.features = nn.Sequential(*layers, _conv_bn(inputs, 576, 1, 1, 1, nn.Hardswish))
        self.classifier = nn.Sequential(
            nn.Linear(576, 1024), nn.Hardswish(inplace=True), nn.Dropout(0.2), nn.Linear(1024, 10)
        )

    def forward(self, x: Any) -> Any:
        return self.classifier(self.features(x).mean([2, 3]))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.top = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.GroupNorm(2, 8))
        self.middle = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.LeakyReLU(0.1))
        self.bottom = nn.Sequential(nn.Conv2d(16, 32, 3, padding="same"), nn.SiLU())
        self.up1 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.up2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.join1 = nn.Conv2d(32, 16, 3, padding=1)
        self.join2 = nn.Conv2d(24, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x: Any) -> Any:
        a = self.top(x)
        b = self.middle(F.max_pool2d(a, 2))
        c = self.bottom(F.avg_pool2d(b, 2))
        b = F.relu(self.join1(torch.cat([self.up1(c), b], 1)))
        a = F.relu(self.join2(torch.cat([self.up2(b), a], 1)))
        nearest = F.interpolate(b.mean(1, keepdim=True), scale_factor=2)
        return self.head(a) + nearest


class TextClassifier(nn.Module):
    """The mean of the embeddings of the unmasked words, without recurrence."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.position = nn.Parameter(torch.randn(12, 32) * 0.1)
        self.norm = nn.LayerNorm(32)
        self.hidden = nn.Linear(32, 64)
        self.out = nn.Linear(64, 4)

    def forward(self, words: Any, mask: Any) -> Any:
        x = self.norm(self.embedding(words) + self.position[: words.shape[1]])
        weight = mask.unsqueeze(-1).float()
        x = (x * weight).sum(1) / weight.sum(1).clamp(min=1)
        return F.log_softmax(self.out(F.gelu(self.hidden(x))), -1)


class QuantizedConv(nn.Module):
    """A convolution in the form of PyTorch's quantization: int8 data and weights, dequantized
    first."""

    def __init__(self) -> None:
        super().__init__()
        import torch.ao.quantization.fx._decomposed  # registers the operators

        self.register_buffer("weight", torch.randint(-127, 128, (8, 3, 3, 3), dtype=torch.int8))
        self.register_buffer("scales", torch.linspace(0.005, 0.01, 8))
        self.register_buffer("zeros", torch.zeros(8, dtype=torch.int64))
        self.bias = nn.Parameter(torch.randn(8))

    def forward(self, x: Any) -> Any:
        ops = torch.ops.quantized_decomposed
        x = ops.quantize_per_tensor(x, 0.02, 3, -128, 127, torch.int8)
        x = ops.dequantize_per_tensor(x, 0.02, 3, -128, 127, torch.int8)
        w = ops.dequantize_per_channel(
            self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8
        )
        y = F.relu(F.conv2d(x, w, self.bias, padding=1))
        y = ops.quantize_per_tensor(y, 0.05, -128, -128, 127, torch.int8)
        return ops.dequantize_per_tensor(y, 0.05, -128, -128, 127, torch.int8)


def _image(size: int) -> Callable[[], Any]:
    return lambda: (torch.randn(1, 3, size, size),)


def _words() -> Any:
    words = torch.randint(0, 100, (3, 12))
    return words, torch.arange(12)[None, :] < torch.tensor([[12], [5], [1]])


def _encoder(**options: Any) -> Callable[[], Any]:
    return lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, **options)


NETWORKS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "resnet18": (lambda: ResNet18(width=16), _image(64)),
    "mobilenet_v2": (MobileNetV2, _image(32)),
    "mobilenet_v3": (MobileNetV3, _image(64)),
    "unet": (UNet, _image(16)),
    "encoder_layer": (_encoder(), lambda: (torch.randn(2, 7, 32),)),
    "encoder_layer_norm_first": (
        _encoder(norm_first=True, activation="gelu"),
        lambda: (torch.randn(2, 7, 32),),
    ),
    "text_classifier": (TextClassifier, _words),
    "quantized_conv": (QuantizedConv, lambda: (torch.randn(1, 3, 8, 8),)),
}


def build(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A network with random weights and statistics, in evaluation mode, and inputs for it."""
    torch.manual_seed(0)
    make, inputs = NETWORKS[name]
    model = make().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.1, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            nn.init.uniform_(module.weight, 0.5, 1.5)
    return model, inputs()
