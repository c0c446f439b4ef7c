"""from_pytorch: its arguments, results and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import byoc_lab  # noqa: E402
from byoc_lab import importers, relay  # noqa: E402
from byoc_lab.errors import ArgumentError, ImporterError, UnsupportedOperatorError  # noqa: E402
from byoc_lab.importers.pytorch import from_pytorch  # noqa: E402
from byoc_lab.relay.ir.visit import post_order  # noqa: E402

from .networks import build  # noqa: E402


class Scaled(nn.Module):
    """y = relu(x * gain) - shift."""

    def __init__(self, gain: float = 2.0):
        super().__init__()
        self.gain = nn.Parameter(torch.full((3,), gain))
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return torch.relu(x * self.gain) - self.shift


X = torch.tensor([[-1.0, 0.5, 2.0]])


def test_module_exported_program_and_file_give_the_same_relay_module(tmp_path: Path) -> None:
    program = torch.export.export(Scaled(), (X,))
    path = tmp_path / "scaled.pt2"
    torch.export.save(program, str(path))
    mods = [from_pytorch(Scaled(), (X,))[0], relay.frontend.from_pytorch(program)[0]]
    mods.append(importers.load(path)[0])
    assert all(relay.structural_equal(mods[0], mod) for mod in mods[1:])
    np.testing.assert_array_equal(byoc_lab.evaluate(mods[0], [X.numpy()]).value, [[-1, 0, 3]])


def test_weights_that_are_not_frozen_are_named_parameters() -> None:
    mod, params = from_pytorch(Scaled(), (X,), freeze_params=False)
    assert [p.name_hint for p in mod["main"].params] == ["x", "gain", "shift"]
    assert {n: a.tolist() for n, a in params.items()} == {"gain": [2, 2, 2], "shift": [1, 1, 1]}
    found = byoc_lab.evaluate(mod, {"x": X.numpy(), **params}).value
    np.testing.assert_array_equal(found, [[-1, 0, 3]])


def test_imported_arrays_are_copies() -> None:
    model = Scaled()
    mod, _ = from_pytorch(model, (X,))
    with torch.no_grad():
        model.gain.zero_()
    np.testing.assert_array_equal(byoc_lab.evaluate(mod, [X.numpy()]).value, [[-1, 0, 3]])


def test_dynamic_batch_is_any() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(4, 2),
    ).eval()  # fmt: skip
    x = torch.randn(2, 3, 8, 8)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("n")},))
    mod, _ = from_pytorch(program)
    assert str(mod["main"].params[0].checked_type) == "Tensor[(?, 3, 8, 8), float32]"
    for batch in (1, 5):
        x = torch.randn(batch, 3, 8, 8)
        wanted = model(x).detach().numpy()
        np.testing.assert_allclose(
            byoc_lab.evaluate(mod, [x.numpy()]).value, wanted, rtol=1e-5, atol=1e-6
        )


class SmallViT(nn.Module):
    """Patches and a class token through an encoder layer."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, x: Any) -> Any:
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.token.expand(x.shape[0], -1, -1), y], 1)
        return self.encoder(y)[:, 0] * x.shape[0]


def test_encoder_has_a_dynamic_batch_and_sequence_length() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    dims = {0: torch.export.Dim("n"), 1: torch.export.Dim("length", min=2, max=64)}
    program = torch.export.export(layer, (torch.randn(3, 5, 8),), dynamic_shapes=(dims,))
    mod, _ = from_pytorch(program)
    assert str(mod["main"].ret_type) == "Tensor[(?, ?, 8), float32]"
    inputs = [torch.randn(*shape) for shape in ((2, 4, 8), (1, 7, 8))]
    for x in inputs:
        found = byoc_lab.evaluate(mod, [x.numpy()]).value
        np.testing.assert_allclose(found, layer(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    pytest.importorskip("tvm")
    executable = byoc_lab.build(byoc_lab.trace(mod, "dnnl").result)
    for x in inputs:
        found = executable.run([x.numpy()])[0]
        np.testing.assert_allclose(found, layer(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_causal_attention_and_positions_may_have_a_dynamic_length() -> None:
    class Causal(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x + torch.arange(0, 2 * x.shape[1], 2, dtype=x.dtype)[:, None]
            return torch.nn.functional.scaled_dot_product_attention(y, y, y, is_causal=True)

    model, dims = Causal(), {1: torch.export.Dim("length", min=2, max=64)}
    program = torch.export.export(model, (torch.randn(2, 5, 4),), dynamic_shapes=(dims,))
    mod, _ = from_pytorch(program)
    executable = byoc_lab.build(byoc_lab.trace(mod, "dnnl").result)
    for length in (3, 7):
        x = torch.randn(2, length, 4)
        for found in (byoc_lab.evaluate(mod, [x.numpy()]).value, executable.run([x.numpy()])[0]):
            np.testing.assert_allclose(found, model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "pool, error",
    [
        (lambda x: torch.max_pool2d(x, 2) + 0, None),
        (lambda x: F.max_pool2d(x, 2, return_indices=True)[1], "indices of maxima need static"),
        (lambda x: F.avg_pool2d(x, 2, 1, 0, True, divisor_override=3), "in ceil mode needs"),
    ],
)
def test_adaptive_pooling_with_dynamic_sizes_is_refused_if_it_needs_static_ones(
    pool: Any, error: str | None
) -> None:
    class Pool(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return pool(x)

    dims = {2: torch.export.Dim("h", min=4, max=64)}
    program = torch.export.export(Pool(), (torch.randn(1, 2, 8, 6),), dynamic_shapes=(dims,))
    if error is None:
        assert from_pytorch(program)
        return
    with pytest.raises(UnsupportedOperatorError, match=error):
        from_pytorch(program)


def test_transformer_has_a_dynamic_batch() -> None:
    torch.manual_seed(0)
    model = SmallViT().eval()
    example = torch.randn(2, 3, 8, 8)
    program = torch.export.export(model, (example,), dynamic_shapes=({0: torch.export.Dim("n")},))
    mod, _ = from_pytorch(program)
    assert str(mod["main"].ret_type) == "Tensor[(?, 16), float32]"
    for batch in (2, 5):
        x = torch.randn(batch, 3, 8, 8)
        found = byoc_lab.evaluate(mod, [x.numpy()]).value
        np.testing.assert_allclose(found, model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_networks_are_unrolled(kind: str) -> None:
    torch.manual_seed(0)
    model = getattr(nn, kind)(4, 3, batch_first=True).eval()
    x = torch.randn(2, 5, 4)
    mod, _ = from_pytorch(model, (x,))
    found = byoc_lab.evaluate(mod, [x.numpy()]).outputs[0]
    np.testing.assert_allclose(found, model(x)[0].detach().numpy(), rtol=1e-5, atol=1e-6)


def test_numbers_among_the_inputs_are_constants() -> None:
    class Times(nn.Module):
        def forward(self, x: Any, factor: float) -> Any:
            return x * factor

    mod, _ = from_pytorch(Times(), (X, 3.0))
    assert [p.name_hint for p in mod["main"].params] == ["x"]
    np.testing.assert_array_equal(byoc_lab.evaluate(mod, [X.numpy()]).value, X.numpy() * 3)


def test_several_inputs_and_outputs_keep_their_order() -> None:
    class Several(nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return {"sum": a + b, "rest": [a - b, (a * b,)]}

    a, b = torch.tensor([3.0]), torch.tensor([2.0])
    mod, _ = from_pytorch(Several(), (a, b))
    found = byoc_lab.evaluate(mod, [a.numpy(), b.numpy()]).outputs
    assert [float(x[0]) for x in found] == [5, 1, 6]


def test_outputs_that_are_none_are_omitted() -> None:
    class Optional(nn.Module):
        def __init__(self, *values: Any):
            super().__init__()
            self.values = values

        def forward(self, x: Any) -> Any:
            return (*self.values, x) if x.shape[0] else ()

    mod, _ = from_pytorch(Optional(None, None), (X,))
    np.testing.assert_array_equal(byoc_lab.evaluate(mod, [X.numpy()]).value, X.numpy())
    with pytest.raises(ImporterError, match="is not a tensor; only tensors and None"):
        from_pytorch(Optional(3), (X,))
    with pytest.raises(ImporterError, match="returns no tensor"):
        from_pytorch(Optional(), (torch.ones(0, 3),))


def test_spans_have_the_path_of_the_module() -> None:
    model, inputs = build("mobilenet_v3")
    mod, _ = from_pytorch(model, inputs)
    nodes = [n for n in post_order(mod["main"].body) if not isinstance(n, relay.Op)]
    assert all(n.span is not None for n in nodes)
    first = next(n for n in nodes if isinstance(n, relay.Call) and n.op.name == "nn.conv2d")
    assert str(first.span) == "features.0.0/conv2d"


# Kept modules ------------------------------------------------------------------------------------


class Pair(nn.Module):
    """A module with two inputs and two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Any, y: Any) -> Any:
        total = self.linear(x) + y
        return total, torch.relu(total)


class UsesPairs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = Pair(), Pair()

    def forward(self, x: Any) -> Any:
        p, q = self.a(x, x * 2)
        r, s = self.b(q, p)
        _, t = self.a(s, r)
        return s + t


def composites(mod: relay.IRModule) -> list[Any]:
    """The composite functions of calls, in order."""
    calls = [n for n in post_order(mod["main"].body) if isinstance(n, relay.Call)]
    return [c.op for c in calls if isinstance(c.op, relay.Function) and "Composite" in c.op.attrs]


def test_each_call_of_a_kept_module_is_one_composite_function() -> None:
    torch.manual_seed(0)
    model, x = UsesPairs(), torch.randn(2, 3)
    mod, _ = from_pytorch(model, (x,), keep=[Pair])
    found = composites(mod)
    assert [str(f.attrs["Composite"]) for f in found] == ["Pair"] * 3
    assert [len(f.params) for f in found] == [2, 2, 2]
    plain, _ = from_pytorch(model, (x,))
    for m in (mod, plain):
        value = byoc_lab.evaluate(m, [x.numpy()]).value
        np.testing.assert_allclose(value, model(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert not composites(plain)


def test_weights_of_a_kept_module_are_inside_unless_they_are_parameters() -> None:
    model, x = UsesPairs(), torch.randn(2, 3)
    mod, params = from_pytorch(model, (x,), keep=[Pair], freeze_params=False)
    assert [len(f.params) for f in composites(mod)] == [4, 4, 4]
    value = byoc_lab.evaluate(mod, {"x": x.numpy(), **params}).value
    np.testing.assert_allclose(value, model(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_outermost_kept_module_is_the_composite() -> None:
    model, x = UsesPairs(), torch.randn(2, 3)
    (whole,) = composites(from_pytorch(nn.Sequential(model), (x,), keep=[UsesPairs, Pair])[0])
    assert whole.attrs["Composite"] == "UsesPairs"
    assert "linear_add_relu_" in str(whole.attrs["PartitionedFromPattern"])


def _regions(mod: relay.IRModule, backend: str) -> list[Any]:
    result = byoc_lab.trace(mod, backend).stages[-1].after
    return [f for f in result.functions.values() if "Compiler" in f.attrs]


class Chain(nn.Module):
    """Modules to keep with other operators between them."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = Scaled(), Scaled(3.0)

    def forward(self, x: Any) -> Any:
        return self.b(torch.tanh(self.a(x)))


@pytest.mark.parametrize("by_pattern", [False, True])
def test_kept_module_is_one_region_of_a_back_end_that_supports_it_by_name(by_pattern: bool) -> None:
    patterns = []
    if by_pattern:
        block = relay.dataflow_pattern.wildcard().has_attr({"Composite": "Scaled"})
        patterns = [("keeper.scaled", block(relay.dataflow_pattern.wildcard()))]
    byoc_lab.backends.register("keeper", patterns=patterns)
    keep: Any = [Scaled] if by_pattern else {Scaled: "keeper.scaled"}
    mod, _ = from_pytorch(Chain(), (X,), keep=keep)
    regions = _regions(mod, "keeper")
    assert len(regions) == 2 and all(r.attrs["Compiler"] == "keeper" for r in regions)
    text = str(byoc_lab.trace(mod, "keeper").stages[-1].after["main"])
    assert "tanh" in text and "multiply" not in text and "relu" not in text


# Errors ------------------------------------------------------------------------------------------


class Twisted(nn.Module):
    """A module whose intermediate result is used outside before the module ends."""

    class Inner(nn.Module):
        def forward(self, x: Any, outside: Any) -> Any:
            y = torch.sin(x)
            return torch.cos(y + outside(y))

    def __init__(self) -> None:
        super().__init__()
        self.inner = Twisted.Inner()

    def forward(self, x: Any) -> Any:
        return self.inner(x, torch.exp)


def test_composite_of_a_kept_module_contains_the_modules_it_calls() -> None:
    (whole,) = composites(from_pytorch(Twisted(), (X,), keep=[Twisted.Inner])[0])
    assert str(whole.attrs["PartitionedFromPattern"]) == "sin_exp_add_cos_"


def test_keep_refuses_names_that_the_model_lacks() -> None:
    with pytest.raises(
        ArgumentError, match=r"keep names .*Pair, which the exported .* never calls"
    ):
        from_pytorch(Scaled(), (X,), keep=[Pair])
    for wrong in (Scaled, "Scaled", [3], 7):
        with pytest.raises(ArgumentError, match="keep must"):
            from_pytorch(Scaled(), (X,), keep=wrong)  # type: ignore[arg-type]


def test_wrong_arguments_raise_errors_that_name_them() -> None:
    with pytest.raises(ArgumentError, match=r"takes a torch\.export\.ExportedProgram or .* int"):
        from_pytorch(3)
    with pytest.raises(ArgumentError, match="example_inputs must be a tuple of tensors"):
        from_pytorch(Scaled())
    with pytest.raises(ArgumentError, match="omit example_inputs"):
        from_pytorch(torch.export.export(Scaled(), (X,)), (X,))
    with pytest.raises(ImporterError, match=r"torch\.export cannot export Scaled"):
        from_pytorch(Scaled(), (torch.ones(4),))


def test_module_in_training_mode_is_refused() -> None:
    x = torch.randn(2, 3, 4, 4)
    with pytest.raises(ImporterError, match=r"module\.eval\(\)"):
        from_pytorch(nn.BatchNorm2d(3), (x,))
    with pytest.raises(ImporterError, match=r"module\.eval\(\)|not supported"):
        from_pytorch(nn.Sequential(nn.Dropout(0.5)), (x,))


def test_unsupported_operator_is_named_with_its_module() -> None:
    class Spectrum(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.fft.rfft(x).abs()

    with pytest.raises(UnsupportedOperatorError) as raised:
        from_pytorch(nn.Sequential(nn.ReLU(), Spectrum()), (X,))
    message = str(raised.value)
    assert "aten::_fft_r2c" in message and "node '1/" in message


def test_file_that_is_not_an_exported_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.pt2"
    path.write_bytes(b"not a program")
    with pytest.raises(ImporterError, match=r"not a program that torch\.export\.save wrote"):
        importers.load(path)
