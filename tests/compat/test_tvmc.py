"""`tvm.driver.tvmc`: load, compile, run."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from byoc_lab.compat import relay, tvm
from byoc_lab.errors import BuildError, InputError, UnknownNameError, UnsupportedNameError

tvmc = tvm.driver.tvmc


def _model() -> tvmc.TVMCModel:
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    mod = relay.transform.InferType()(mod)
    return tvmc.TVMCModel(mod, {"w": tvm.nd.array(np.full((4, 8), 0.5, np.float32))})


def test_compile_and_run(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = _model()
    model.summary()
    assert capsys.readouterr().out == f"{model.mod}\n"
    package = tvmc.compile(model, target="llvm", package_path=str(tmp_path / "model.tar"))
    ones = np.ones((2, 8), np.float32)
    result = tvmc.run(package, device="cpu", inputs={"x": ones}, benchmark=True, repeat=2, number=1)
    assert (result.get_output("output_0") == 4).all()
    assert "mean (ms)" in str(result) and str(result).endswith("Output Names:\n ['output_0']")
    result.save(str(tmp_path / "out.npz"))
    assert (np.load(tmp_path / "out.npz")["output_0"] == 4).all()
    again = tvmc.TVMCPackage(tmp_path / "model.tar")
    assert (tvmc.run(again, fill_mode="ones").outputs["output_0"] == 4).all()
    assert tvmc.run(again, fill_mode="zeros").outputs["output_0"].sum() == 0


def test_a_back_end_before_the_target() -> None:
    package = tvmc.compile(_model(), target="ccompiler, llvm")
    (module,) = package.library.imported_modules
    assert module.type_key == "c" and module.name in module.get_source()
    ones = np.ones((2, 8), np.float32)
    assert (tvmc.run(package, inputs={"x": ones}).get_output("output_0") == 4).all()
    with pytest.raises(UnknownNameError, match="'cmsis-nn'"):
        tvmc.compile(_model(), target="cmsis-nn, llvm")


def test_models_as_files(tmp_path: pathlib.Path) -> None:
    model = _model()
    model.save(str(tmp_path / "saved.tar"))
    again = tvmc.TVMCModel(model_path=str(tmp_path / "saved.tar"))
    assert tvm.ir.structural_equal(again.mod, model.mod)
    assert (again.params["w"].numpy() == 0.5).all()
    (tmp_path / "model.relay").write_text(model.mod.astext())
    loaded = tvmc.load(str(tmp_path / "model.relay"))
    assert tvm.ir.structural_equal(loaded.mod, model.mod)
    with pytest.raises(InputError, match=r"was not written by TVMCModel\.save"):
        tvmc.TVMCModel(model_path=str(tmp_path / "model.relay"))


def test_what_is_not_there() -> None:
    with pytest.raises(UnsupportedNameError, match=r"found 'resnet\.onnx' \('onnx'\)"):
        tvmc.load("resnet.onnx", shape_dict={"data": [1, 3, 224, 224]})
    with pytest.raises(UnsupportedNameError, match="tuning went with Relay"):
        tvmc.tune(_model(), target="llvm")
    with pytest.raises(BuildError, match="takes no tuning_records, cross here"):
        tvmc.compile(_model(), "llvm", tuning_records="log.json", cross="gcc")
    with pytest.raises(BuildError, match="found 'cuda'"):
        tvmc.compile(_model(), "cuda")
    options = {"desired_layout": "NHWC", "disabled_pass": "FuseOps,FastMath"}
    package = tvmc.compile(_model(), "llvm", **options)
    with pytest.raises(InputError, match=r"no input is called y; there are x"):
        tvmc.run(package, inputs={"y": 1})
    with pytest.raises(InputError, match=r"fill_mode must be .* found 'twos'"):
        tvmc.run(package, fill_mode="twos")
    with pytest.raises(BuildError, match="found 'cuda'"):
        tvmc.run(package, device="cuda")
