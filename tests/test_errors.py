"""Parts of messages: counts, and the source location of an error in a user's code."""

from __future__ import annotations

from pathlib import Path

import pytest

import byoc_lab
from byoc_lab.errors import counted, place_outside

PACKAGE = Path(byoc_lab.__file__).parent


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (0, "call", "0 calls"),
        (1, "call", "1 call"),
        (2000, "function literal", "2,000 function literals"),
        (2, "annotation for dnnl", "2 annotations for dnnl"),
        (1, "annotation for dnnl", "1 annotation for dnnl"),
    ],
)
def test_counted_noun_is_singular_for_one_and_plural_otherwise(
    count: int, noun: str, text: str
) -> None:
    assert counted(count, noun) == text


@pytest.mark.parametrize(
    ("path", "is_outside"),
    [
        (PACKAGE / "run" / "build.py", False),
        (PACKAGE.with_name("byoc_lab_kernels") / "relu.py", True),
    ],
)
def test_location_of_an_error_is_the_last_one_outside_the_package(
    path: Path, is_outside: bool
) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("1 / 0", str(path), "exec"))
    place = place_outside(caught.value)
    assert place == f" at {path}:1" if is_outside else place.startswith(f" at {__file__}:")
