"""Relax networks for tests of traces."""
# ruff: noqa: N805, SIM108 (TVMScript looks like methods of Python)

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")
import tvm
from tvm import relax
from tvm.relax.frontend import nn
from tvm.script import ir as I
from tvm.script import relax as R

transform = relax.transform


@I.ir_module
class Small:
    @R.function
    def main(
        x: R.Tensor((1, 3, 8, 8), "float32"),
        w: R.Tensor((4, 3, 3, 3), "float32"),
        b: R.Tensor((1, 4, 1, 1), "float32"),
    ):
        with R.dataflow():
            a = R.nn.conv2d(x, w, padding=1)
            c = R.add(a, b)
            d = R.nn.relu(c)
            e = R.erf(d)
            R.output(e)
        return e


SMALL = Small


def tensor(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    from byoc_lab.run.tvm_runtime import tensor_type

    return tensor_type(shape, dtype)


def dataflow(body: Any, *shapes: tuple[int, ...]) -> Any:
    """main(x0, ...) with one dataflow block, created by `body(emit, *parameters)`."""
    builder = relax.BlockBuilder()
    sizes = shapes or ((2, 4),)
    given = [relax.Var(f"x{n}" if n else "x", tensor(s)) for n, s in enumerate(sizes)]
    with builder.function("main", given):
        with builder.dataflow():
            out = builder.emit_output(body(builder.emit, *given))
        builder.emit_func_output(out)
    return builder.get()


def relu_module(operator: str = "relu") -> Any:
    """One operator on a tensor: relu, gelu or cumsum."""
    calls = {
        "relu": relax.op.nn.relu,
        "gelu": relax.op.nn.gelu,
        "cumsum": lambda x: relax.op.cumsum(x, axis=1),
    }
    return dataflow(lambda emit, x: emit(calls[operator](x)))


def transposed_matmul() -> Any:
    def body(emit: Any, x: Any, w: Any) -> Any:
        return emit(relax.op.matmul(x, emit(relax.op.permute_dims(w))))

    return dataflow(body, (4, 8), (16, 8))


@I.ir_module
class Branches:
    """A branch, a shape, a cast, a number, a tuple, and an unused value."""

    @R.function(pure=False)
    def main(x: R.Tensor((4, 3), "float32"), c: R.Tensor((), "bool")):
        if c:
            y = R.add(x, x)
        else:
            y = R.multiply(x, x)
        z = R.match_cast(y, R.Tensor((4, 3), "float32"))
        s = R.reshape(z, R.shape([3, 4]))
        _ = R.print(s, format="s")
        parts = R.split(s, 2, axis=1)
        r = R.concat((parts[0], s), axis=1)
        return r


BRANCHES = Branches


@I.ir_module
class Devices:
    """Values on devices that the module lists."""

    I.module_attrs({"attr": 10})
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((2, 3), "float32", "vdevice:0")):
        with R.dataflow():
            y = R.to_vdevice(x, "vdevice:1")
            R.output(y)
        return y


DEVICES = Devices


class _Block(nn.Module):
    def __init__(self, channels: int):
        self.a = nn.Conv2D(channels, channels, 3, padding=1, bias=False)
        self.b = nn.Conv2D(channels, channels, 3, padding=1, bias=False)

    def forward(self, x: Any) -> Any:
        y = self.b(nn.op.relu(self.a(x)))
        return nn.op.relu(nn.op.add(y, x))


class _ResNet(nn.Module):
    def __init__(self, blocks: int):
        self.stem = nn.Conv2D(3, 8, 3, padding=1, bias=False)
        self.blocks = nn.ModuleList([_Block(8) for _ in range(blocks)])
        self.fc = nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        x = nn.op.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return nn.op.softmax(self.fc(nn.op.sum(x, axis=[2, 3])), axis=-1)


def resnet(blocks: int = 3) -> Any:
    """A residual network with its weights as parameters; num_input separates them from inputs."""
    spec = {"forward": {"x": nn.spec.Tensor((1, 3, 8, 8), "float32")}}
    mod, _ = _ResNet(blocks).export_tvm(spec)
    return tvm.IRModule({"main": mod["forward"].with_attr("global_symbol", "main")})


def chain(length: int) -> Any:
    """The given number of consecutive additions."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor((1, 8)))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for n in range(length):
                value = builder.emit(relax.op.add(value, relax.const(float(n), "float32")))
            out = builder.emit_output(value)
        builder.emit_func_output(out)
    return builder.get()


def dnnl_passes() -> list[Any]:
    from byoc_lab.relax.partition import partitioning_passes, preparing_passes

    return [*preparing_passes(), *partitioning_passes()]
