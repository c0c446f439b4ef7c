"""`tvm.driver.tvmc`, TVM's command line driver, as scripts use it: load, compile, run.

    model = tvmc.load("network.relay")              # what mod.astext() gave
    package = tvmc.compile(model, target="dnnl, llvm")
    print(tvmc.run(package, device="cpu"))

Source of the names: apache/tvm, python/tvm/driver/tvmc/{model,compiler,runner}.py.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from byoc_lab.backends import partition
from byoc_lab.compat import vm
from byoc_lab.compat.building import Library, build, check_target, load_library
from byoc_lab.compat.graph_executor import BenchmarkResult, GraphModule
from byoc_lab.compat.params import load_param_dict, save_param_dict
from byoc_lab.errors import BuildError, InputError, UnsupportedNameError
from byoc_lab.passes import ConvertLayout, InferType, PassContext, Sequential
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.parser import parse

_ELSEWHERE = "import the network with the TVM it was written for, save mod.astext() and load that"


class TVMCModel:
    """A module and its parameters, by name; `model_path` reads what `save` wrote."""

    def __init__(
        self,
        mod: IRModule | None = None,
        params: Mapping[str, Any] | None = None,
        model_path: str | None = None,
    ):
        if (mod is None) == (model_path is None):
            raise InputError("TVMCModel takes a module or the path of a saved model, one of them")
        self.params = dict(params or {})
        if mod is not None:
            self.mod = mod
        else:
            self.load(str(model_path))

    def save(self, model_path: str) -> None:
        """Write a tar file: the module's text and the parameters."""
        with tarfile.open(model_path, "w") as archive:
            for name, data in (
                ("model.relay", self.mod.astext().encode()),
                ("model.params", save_param_dict(self.params)),
            ):
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))

    def load(self, model_path: str) -> None:
        """Read what `save` wrote. Raises InputError for another file."""
        try:
            with tarfile.open(model_path) as archive:
                text, params = (
                    archive.extractfile(f"model.{part}").read()  # type: ignore[union-attr]
                    for part in ("relay", "params")
                )
        except (tarfile.TarError, KeyError) as error:
            raise InputError(f"{model_path} was not written by TVMCModel.save: {error}") from None
        self.mod, self.params = parse(text.decode()), load_param_dict(params)

    def summary(self, file: Any = None) -> None:
        """Print the module."""
        print(self.mod, file=file)


class TVMCPackage:
    """A compiled model; also of the file that `compile(..., package_path=...)` wrote."""

    def __init__(self, package_path: str | Path, library: Library | None = None):
        self.package_path = str(package_path)
        self.library = load_library(package_path) if library is None else library


class TVMCResult:
    """`outputs`, arrays by name ("output_0", ...), and the `times` of the runs, when measured."""

    def __init__(self, outputs: Mapping[str, np.ndarray], times: BenchmarkResult | None):
        self.outputs, self.times = dict(outputs), times

    def format_times(self) -> str:
        return str(self.times)

    def get_output(self, name: str) -> np.ndarray:
        return self.outputs[name]

    def save(self, output_path: str) -> None:
        """Write the outputs as .npz."""
        arrays: dict[str, Any] = self.outputs
        np.savez(output_path, **arrays)

    def __str__(self) -> str:
        return f"{self.format_times()}\nOutput Names:\n {list(self.outputs)}"


def load_model(
    path: str, model_format: str | None = None, shape_dict: Any = None, **options: Any
) -> TVMCModel:
    """A model from Relay's text: a file *.relay, or model_format="relay".

    Raises UnsupportedNameError for another format.
    """
    found = model_format or Path(path).suffix.lstrip(".")
    if found != "relay":
        raise UnsupportedNameError(
            f"tvmc.load reads Relay's text ('relay'), found {path!r} ({found!r}); {_ELSEWHERE}"
        )
    return TVMCModel(InferType()(parse(Path(path).read_text(encoding="utf-8"))))


def compile_model(
    tvmc_model: TVMCModel,
    target: Any,
    opt_level: int = 3,
    executor: Any = None,
    runtime: Any = None,
    tuning_records: str | None = None,
    package_path: str | None = None,
    disabled_pass: str | None = None,
    use_vm: bool = False,
    mod_name: str = "default",
    instruments: Sequence[Any] | None = None,
    desired_layout: str | None = None,
    desired_layout_ops: Sequence[str] | None = None,
    **others: Any,
) -> TVMCPackage:
    """Compile for this machine's CPU. `target` may name back ends before it: "dnnl, llvm".

    disabled_pass: names with commas between. desired_layout: of the operators of
    `desired_layout_ops`, by default nn.conv2d, nn.conv2d_transpose and qnn.conv2d.

    Raises BuildError for tuning records (nothing is tuned), for other options, and as
    `relay.build` does; UnknownNameError for a back end that is not registered.
    """
    unknown = [name for name, value in others.items() if value]
    if tuning_records or unknown:
        names = ", ".join([*(["tuning_records"] if tuning_records else []), *unknown])
        raise BuildError(f"tvmc.compile takes no {names} here: leave it out")
    compilers, host = _targets(target)
    mod = tvmc_model.mod
    disabled = [name.strip() for name in (disabled_pass or "").split(",") if name.strip()]
    with PassContext(opt_level=opt_level, disabled_pass=disabled, instruments=instruments):
        if desired_layout:
            operators = desired_layout_ops or ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")
            layouts = {operator: [desired_layout, "default"] for operator in operators}
            mod = Sequential([InferType(), ConvertLayout(layouts)])(mod)
        for compiler in compilers:
            mod = partition(mod, compiler, tvmc_model.params)
        if use_vm:
            library = vm.compile(mod, host, params=tvmc_model.params).lib
        else:
            library = build(mod, host, None, executor, runtime, params=tvmc_model.params,
                            mod_name=mod_name)  # fmt: skip
    if package_path:
        library.export_library(package_path)
    return TVMCPackage(package_path or "", library)


def _targets(target: Any) -> tuple[list[str], Any]:
    """The back ends, and the target of the rest."""
    if not isinstance(target, str):
        return [], target
    *compilers, host = (part.strip() for part in target.split(","))
    check_target(host)
    return [compiler.split()[0] for compiler in compilers], host


def run_module(
    tvmc_package: TVMCPackage,
    device: str = "cpu",
    hostname: str | None = None,
    port: Any = None,
    rpc_key: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    fill_mode: str = "random",
    benchmark: bool = False,
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
    options: Any = None,
) -> TVMCResult:
    """Run once, and `repeat` times `number` times more when `benchmark` is set.

    Inputs that are not given are filled: `fill_mode` is "random", "zeros" or "ones". Raises
    InputError for another one, BuildError for a device that is no CPU, and for a remote one.
    """
    if device != "cpu" or hostname or rpc_key:
        found = hostname or device
        raise BuildError(f"byoc_lab runs on this machine's CPU (device='cpu'), found {found!r}")
    graph = GraphModule(tvmc_package.library)
    given = dict(inputs or {})
    unknown = ", ".join(sorted(set(given) - set(graph.parameters)))
    if unknown:
        raise InputError(f"no input is called {unknown}; there are {', '.join(graph.parameters)}")
    for name, parameter in graph.parameters.items():
        ty = parameter.checked_type
        value = given[name] if name in given else _filled(ty.shape, ty.dtype, fill_mode)
        graph.set_input(name, value)
    graph.run()
    outputs = {f"output_{i}": graph.get_output(i).numpy() for i in range(graph.get_num_outputs())}
    times = graph.benchmark(repeat=repeat, number=number) if benchmark else None
    return TVMCResult(outputs, times)


def _filled(shape: Sequence[int], dtype: str, mode: str) -> np.ndarray:
    if mode == "zeros":
        return np.zeros(shape, dtype)
    if mode == "ones":
        return np.ones(shape, dtype)
    if mode != "random":
        raise InputError(f"fill_mode must be 'random', 'zeros' or 'ones', found {mode!r}")
    if "int8" in dtype:
        return np.random.randint(128, size=shape).astype(dtype)
    return np.random.uniform(-1, 1, size=shape).astype(dtype)


def tune_model(*arguments: Any, **options: Any) -> NoReturn:
    """Raises UnsupportedNameError: tuning went with Relay."""
    raise UnsupportedNameError("tvmc.tune is not supported: tuning went with Relay; compile "
                               "without tuning records")  # fmt: skip


load, compile, run, tune = load_model, compile_model, run_module, tune_model

__all__ = ["TVMCModel", "TVMCPackage", "TVMCResult", "compile", "compile_model", "load",
           "load_model", "run", "run_module", "tune", "tune_model"]  # fmt: skip
