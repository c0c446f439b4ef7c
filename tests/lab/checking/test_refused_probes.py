"""A wrong region is found even if its code generator refuses the probes of single operators."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, cli, relay
from byoc_lab.backends import HEADERS, C, ModuleRegion, PythonRegion, c_library
from byoc_lab.errors import BuildError, RegionError
from byoc_lab.relay.dataflow_pattern import is_op, wildcard
from byoc_lab.relay.ir.expr import Call, Function, Op, Tuple
from byoc_lab.relay.ir.module import IRModule

NAME = "edu_fused"
VALUES = [np.float32([1, -2, 3, -4]), np.float32([1, 1, 1, 1])]
Codegen = Callable[[Function, str], Any]


def wrong(a: Any, b: Any) -> Any:
    return np.maximum(a + b, 0) + np.float32(0.5)


def region(function: Function, symbol: str) -> PythonRegion:
    return PythonRegion(wrong)


def raises(function: Function, symbol: str) -> PythonRegion:
    if isinstance(function.body, Tuple):
        raise ValueError("one output only")
    return PythonRegion(wrong)


def gives_nothing(function: Function, symbol: str) -> PythonRegion | None:
    return None if isinstance(function.body, Tuple) else PythonRegion(wrong)


def of_composites_alone(function: Function, symbol: str) -> PythonRegion:
    call = function.body
    if not (isinstance(call, Call) and isinstance(call.op, Function)):
        raise BuildError("no composite")
    return PythonRegion(wrong)


def refuses_at_run_time(function: Function, symbol: str) -> PythonRegion:
    def run(*arrays: Any) -> Any:
        if isinstance(function.body, Tuple) or len(arrays) != 2:
            raise RegionError("the device has one output")
        return wrong(*arrays)

    return PythonRegion(run)


KERNEL = """#include "tensor_argument.h"
int __tvm_ffi_{symbol}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  if (!argument_count(count, 3)) return -1;
  int64_t shape[] = {{4}};
  float* a = tensor_argument(args, 0, shape, 1);
  float* b = tensor_argument(args, 1, shape, 1);
  float* out = tensor_argument(args, 2, shape, 1);
  if (!a || !b || !out) return -1;
  for (int i = 0; i < 4; ++i) out[i] = (a[i] + b[i] > 0 ? a[i] + b[i] : 0) + .5f;
  return 0;
}}
"""


def in_c(function: Function, symbol: str) -> ModuleRegion:
    """The kernel of the composite in C: two inputs and one output, for any function."""
    text = KERNEL.format(symbol=symbol)
    return ModuleRegion(function, symbol, c_library(symbol, [C(text)], includes=[HEADERS]))


def network() -> IRModule:
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    return IRModule.from_expr(Function([x, y], relay.nn.relu(relay.add(x, y))))


@pytest.fixture(
    params=[region, raises, gives_nothing, of_composites_alone, refuses_at_run_time, in_c],
    ids=lambda f: f.__name__,
)
def fused(request: pytest.FixtureRequest) -> Iterator[str]:
    registered(request.param)
    yield NAME
    backends.unregister(NAME)


AT_RUN_TIME = ("region", "refuses_at_run_time", "in_c")
"""Code generators whose code fails on programs that return intermediate values."""


def registered(codegen: Codegen | None) -> None:
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    backends.register(NAME, patterns=[(f"{NAME}.add_relu", pattern)], codegen=codegen)


def test_wrong_kernel_is_reported_with_the_refused_probes(
    fused: str, request: pytest.FixtureRequest
) -> None:
    part = byoc_lab.trace(network(), fused).result
    report = byoc_lab.validate(network(), part, VALUES, detail="operator")
    assert not report.ok and not report.regions[0].ok
    assert report.regions[0].error == pytest.approx(0.5)
    late = any(name in request.node.name for name in AT_RUN_TIME)
    told = "the code of edu_fused fails on it" if late else "edu_fused does not compile it"
    assert f"could not look inside: {told} with all intermediate values" in str(report)


def test_bisect_names_the_region_but_no_operator_if_probes_are_refused(fused: str) -> None:
    found = byoc_lab.bisect(network(), fused, VALUES)
    assert found and found.stage == "code generation of edu_fused"
    assert "  composite: add+nn.relu\n" in str(found) and "operator: " not in str(found)


def of_each_operator(function: Function, symbol: str) -> PythonRegion:
    """Computes the functions of single operators, and the composite with a wrong result."""
    call = function.body
    if isinstance(call, Call) and isinstance(call.op, Op):
        one = {"add": np.add, "nn.relu": lambda a: np.maximum(a, 0)}
        return PythonRegion(one[call.op.name])
    return raises(function, symbol)


def test_results_of_operators_compiled_alone_name_their_inputs() -> None:
    registered(of_each_operator)
    try:
        part = byoc_lab.trace(network(), NAME).result
        report = byoc_lab.validate(network(), part, detail="operator")
    finally:
        backends.unregister(NAME)
    parts = [c.name for c in report.operators if re.search(r" add \d, compiled alone", c.name)]
    assert [re.sub(r".*add (\d), compiled alone, on ", r"\1 ", name) for name in parts] == [
        f"1 {kind} inputs" for kind in ("normal", "wide", "ties")
    ]


@pytest.mark.parametrize("error", [0, 0.5])
@pytest.mark.parametrize("composite", [False, True])
def test_code_generator_that_ignores_its_function_is_not_blamed_for_a_step(
    error: float, composite: bool
) -> None:
    """Its code for a step alone computes the whole region, which is no fault of the step."""
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    net = IRModule.from_expr(relay.nn.relu(relay.exp(x) - y))

    def whole(function: Function, symbol: str) -> PythonRegion:
        return PythonRegion(lambda a, b: np.maximum(np.exp(a) - b, 0) + np.float32(error))

    pattern = is_op("nn.relu")(is_op("subtract")(is_op("exp")(wildcard()), wildcard()))
    table = [(f"{NAME}.all", pattern)] if composite else []
    names = [] if composite else ["nn.relu", "subtract", "exp"]
    backends.register(NAME, patterns=table, supports=names, codegen=whole)
    try:
        found = byoc_lab.bisect(net, NAME, VALUES)
        part = byoc_lab.trace(net, NAME).result
        report = byoc_lab.validate(net, part, VALUES, detail="operator")
    finally:
        backends.unregister(NAME)
    assert bool(found) == bool(error) and report.ok == (not error)
    assert "operator: " not in str(found) and "compiled alone:" not in str(found)
    if error or not composite:  # in other cases no step was examined
        assert "its code generator does not read the function" in str(found)
        assert "its code generator does not read the function" in str(report)
    if error:
        assert found.kernel is not None and found.kernel.own.error == pytest.approx(error)


def test_error_of_the_region_on_the_arguments_of_a_wrong_step_is_reported() -> None:
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    net = IRModule.from_expr(relay.subtract(relay.exp(x), y))

    def narrow(a: Any, b: Any) -> Any:
        if a.max() > 2:
            raise ValueError("out of range")
        return np.exp(a) - b

    def limited(function: Function, symbol: str) -> PythonRegion:
        body = function.body
        if isinstance(body, Tuple):
            raise ValueError("one output only")
        assert isinstance(body, Call)
        if isinstance(body.args[0], Call):
            return PythonRegion(narrow)
        alone = {"exp": np.exp, "subtract": lambda a, b: a - b + np.float32(0.5)}
        return PythonRegion(alone[body.op_name])

    backends.register(NAME, supports=["subtract", "exp"], codegen=limited)
    try:
        part = byoc_lab.trace(net, NAME).result
        report = byoc_lab.validate(net, part, [VALUES[1], VALUES[1]], detail="operator")
    finally:
        backends.unregister(NAME)
    assert "the code of the region fails on the arguments of subtract(...) inside" in str(report)
    assert "out of range" in str(report)
    assert [c.ok for c in report.operators if "subtract" in c.name] == [False]


def test_kernel_that_is_wrong_only_inside_its_region_is_found(tmp_path: Path) -> None:
    """The kernel fuses two composites: each alone is right, so no step explains the region's
    error."""

    x = relay.var("x", shape=(4,))
    net = IRModule.from_expr(relay.exp(relay.tanh(x)))

    def of_two(function: Function, symbol: str) -> PythonRegion:
        body = function.body
        if isinstance(body, Tuple):
            raise ValueError("one output only")
        assert isinstance(body, Call)
        inner = body.args[0]
        known = {"exp": np.exp, "tanh": np.tanh}
        if not isinstance(inner, Call):
            return PythonRegion(known[body.op_name])
        return PythonRegion(lambda a: np.exp(np.tanh(a)) + np.float32(0.5))

    backends.register(NAME, supports=["exp", "tanh"], codegen=of_two)
    try:
        found = byoc_lab.bisect(net, NAME, [VALUES[0]], folder=tmp_path)
    finally:
        backends.unregister(NAME)
    assert found and found.kernel is not None and found.kernel.own.error == pytest.approx(0.5)
    assert "operator: exp" in str(found) or "operator: " not in str(found)
    assert "could not look inside" in str(found)


def test_bisection_without_code_is_inconclusive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registered(None)
    try:
        found = byoc_lab.bisect(network(), NAME, VALUES)
        file = tmp_path / "net.relay"
        file.write_text(str(network()))
        code = cli.main(["bisect", str(file), "--pipeline", NAME])
    finally:
        backends.unregister(NAME)
    assert not found and not found.conclusive and not found.ok
    assert str(found).startswith(
        "inconclusive: no pass changed the numbers; the code of 1 region was not checked\n"
    )
    assert code == 3 and "no difference" not in capsys.readouterr().out


def test_bisection_of_right_code_is_conclusive() -> None:
    registered(lambda function, symbol: PythonRegion(lambda a, b: np.maximum(a + b, 0)))
    try:
        found = byoc_lab.bisect(network(), NAME, VALUES)
    finally:
        backends.unregister(NAME)
    assert found.ok and not found and str(found).startswith("no difference found\n")


def test_written_script_for_a_region_fails_in_a_new_process(tmp_path: Path) -> None:
    """The code generator can be imported, so the saved script shows the fault."""
    (tmp_path / "edu_codegen.py").write_text(
        "import numpy as np\n"
        "from byoc_lab.backends import PythonRegion\n"
        "def codegen(function, symbol):\n"
        "    return PythonRegion(lambda a, b: np.maximum(a + b, 0) + np.float32(0.5))\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        import edu_codegen  # type: ignore[import-not-found]

        registered(edu_codegen.codegen)
        found = byoc_lab.bisect(network(), NAME, VALUES, folder=tmp_path / "repro")
    finally:
        sys.path.remove(str(tmp_path))
        backends.unregister(NAME)
    assert found.folder is not None
    script = [sys.executable, str(found.folder / "repro.py")]
    ended = subprocess.run(script, capture_output=True, text=True, check=False, cwd=tmp_path,
                           env={"PYTHONPATH": str(tmp_path)})  # fmt: skip
    assert ended.returncode == 1 and "elements are wrong" in ended.stderr, ended.stderr


def device_lost(a: Any, b: Any) -> Any:
    raise OSError("device lost")


@pytest.mark.parametrize(
    "run", [device_lost, lambda a, b: None, lambda a, b: (a + b)[:2], lambda a: a, np.add.reduce]
)
def test_bisect_names_a_region_whose_code_raises(
    run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registered(lambda function, symbol: PythonRegion(run))
    try:
        found = byoc_lab.bisect(network(), NAME, VALUES, folder=tmp_path / "repro")
        file = tmp_path / "net.relay"
        file.write_text(str(network()))
        given = ["bisect", str(file), "--pipeline", NAME, "--repro", str(tmp_path), "--reduce"]
        code = cli.main(given)
        part = byoc_lab.trace(network(), NAME).result
        with pytest.raises(RegionError) as caught:
            byoc_lab.validate(network(), part, VALUES)
    finally:
        backends.unregister(NAME)
    assert found and not found.ok and found.region == f"tvmgen_default_{NAME}_main_0"
    assert found.failure == str(caught.value)
    assert str(found).startswith(
        "code generation of edu_fused: the code of a region fails when it runs\n"
        f"  region: @{found.region}\n  region @{found.region}: "
    )
    assert code == 1 and "fails when it runs" in capsys.readouterr().out
    assert found.plot() is not None and "changed the numbers" not in found.to_json()
