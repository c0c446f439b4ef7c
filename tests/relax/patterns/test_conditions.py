"""The condition for which a check refuses: found in its source, with the values at that time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab.relax import backends
from byoc_lab.relax.patterns.conditions import refusing_condition

from ..test_partition import module, var
from ..tracing.networks import relax

op = relax.op


def small(size: int) -> bool:
    return size < 8


def in_an_if(asked: Any) -> bool:
    size = asked.size
    if size > 100:
        return False
    if size % 4 != 0:
        return False
    return bool(size)


def in_an_else(asked: Any) -> bool:
    if asked.size > 8:
        large = True
    else:
        return False
    return large


def of_an_or(asked: Any) -> bool:
    kind = asked.kind
    if asked.size > 100 or (
        kind == "int8"
        or not small(asked.size)
    ):  # fmt: skip
        return False
    return bool(kind)


def returned(asked: Any) -> bool:
    return small(asked.size) and asked.kind in ("float16", "bfloat16") and asked.size > 100


def in_a_loop(asked: Any) -> bool:
    for size in (1, asked.size):
        with SimpleContext():
            if size > 3:
                return False
    return True


def in_a_case(asked: Any) -> bool:
    match asked.kind:
        case "float32" | "float64":
            return True
        case str() if asked.size == 6:
            return False
    return False


def in_an_except(asked: Any) -> bool:
    try:
        return bool({}[asked.kind])
    except KeyError:
        return False


def in_one_line(asked: Any) -> bool:
    if asked.size > 100: return False  # fmt: skip  # noqa: E701
    if asked.size % 4: return False  # fmt: skip  # noqa: E701, SIM103
    return True


TWO = (lambda asked: asked.size > 7, lambda asked: asked.kind == "float32")
CALLED = dict(
    check=lambda asked: (
        asked.size < 3
    ),
)  # fmt: skip


class SimpleContext:
    def __enter__(self) -> None:
        """Enters the context."""

    def __exit__(self, *error: object) -> None:
        """Leaves the context."""


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (in_an_if, "`size % 4 != 0` is true with size = 6 ("),
        (in_an_else, "`asked.size > 8` is false with asked.size = 6 ("),
        (of_an_or, "`kind == 'int8'` is true with kind = 'int8' ("),
        (returned, "`asked.kind in ('float16', 'bfloat16')` is false with asked.kind = 'int8' ("),
        (in_a_loop, "`size > 3` is true with size = 6 ("),
        (
            in_a_case,
            "`asked.kind` matches `case str() if asked.size == 6` with asked.kind = 'int8' (",
        ),
        (in_an_except, "`KeyError` is raised and caught ("),
        (in_one_line, "`asked.size % 4` is true with asked.size = 6 ("),
        (CALLED["check"], "`asked.size < 3` is false with asked.size = 6 ("),
        (lambda asked: asked.size == 7, "`asked.size == 7` is false with asked.size = 6 ("),
    ],
)
def test_deciding_condition_is_named(check: Callable[[Any], Any], said: str) -> None:
    before = sys.gettrace()
    found = refusing_condition(check, SimpleNamespace(size=6, kind="int8"))
    assert found.startswith(said) and "test_conditions.py:" in found
    assert sys.gettrace() is before


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no columns")
def test_condition_of_the_right_lambda_in_a_line_is_named() -> None:
    asked = SimpleNamespace(size=6, kind="int8")
    found = [refusing_condition(check, asked).partition(" (")[0] for check in TWO]
    assert found == [
        "`asked.size > 7` is false with asked.size = 6",
        "`asked.kind == 'float32'` is false with asked.kind = 'int8'",
    ]


def without_condition(asked: Any) -> bool:
    return False


def test_missing_source_condition_or_refusal_gives_no_text() -> None:
    asked = SimpleNamespace(size=6, kind="int8")
    made: dict[str, Any] = {}
    exec("def check(asked):\n    return asked.size > 7", made)
    for check in (without_condition, made["check"], lambda asked: asked.size, [].__contains__):
        assert refusing_condition(check, asked) == ""


def image(dtype: str = "float32") -> Any:
    params = [var("x", 1, 8, 8, 8, dtype=dtype), var("w", 8, 8, 3, 3, dtype=dtype)]
    return module(params, lambda emit, x, w: emit(op.nn.conv2d(x, w)))


def test_refusals_of_tvm_s_tables_name_the_condition_and_a_verified_change() -> None:
    (found,) = byoc_lab.explain(image(), "cutlass")
    assert found.cause == "check"
    assert "`data_layout != 'NHWC'` is true with data_layout = 'NCHW' (cutlass.py:" in found.reason
    assert found.change == (
        "run relax.transform.ConvertLayout({'relax.nn.conv2d': ['NHWC', 'OHWI']}) before"
    )
    (found,) = byoc_lab.explain(image("float64"), "cutlass", "nn.conv2d")
    assert found.cause == "check" and found.change is None
    product = module(
        [var("x", 4, 6, dtype="int8"), var("w", 6, 4, dtype="int8")],
        lambda emit, x, w: emit(op.matmul(x, w)),
    )
    report = byoc_lab.explain_patterns("cublas", product)["cublas.matmul"]
    assert report.status == "refused"
    assert "`lhs_shape[-1] % 4 != 0` is true with lhs_shape[-1] = 6 (cublas.py:" in report.reason


def test_refused_dtype_suggests_to_mixed_precision() -> None:
    def half(call: Any) -> bool:
        return bool(call.args[0].ty.dtype == "float16")

    product = module([var("x", 4, 8), var("w", 8, 4)], lambda emit, x, w: emit(op.matmul(x, w)))
    backends.register("npu", supports={"matmul": half})
    try:
        (found,) = byoc_lab.explain(product, "npu")
        assert "`bool(call.args[0].ty.dtype == 'float16')` is false" in found.reason
        assert found.change == "run relax.transform.ToMixedPrecision() before"
    finally:
        backends.unregister("npu")
