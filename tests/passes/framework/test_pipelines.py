"""Named pipelines, and their variants by era."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from byoc_lab.errors import PassError, UnknownNameError
from byoc_lab.passes import (
    FoldConstant,
    InferType,
    Pass,
    named_pipeline,
    pipeline_names,
    register_pipeline,
)
from byoc_lab.passes.framework import pipelines
from byoc_lab.passes.framework.passes import make_pass


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = dict(pipelines._pipelines)
    yield
    pipelines._pipelines.clear()
    pipelines._pipelines.update(before)


def test_pipeline_is_created_anew_each_time() -> None:
    @register_pipeline("mine")
    def mine() -> list[Pass]:
        return [InferType()]

    assert "mine" in pipeline_names()
    (first,), (second,) = named_pipeline("mine"), named_pipeline("mine")
    assert first.name == "InferType" and first is not second


def test_pipeline_may_depend_on_the_era() -> None:
    register_pipeline("eras", lambda era=None: [FoldConstant(era=era)])
    assert named_pipeline("eras")[0].era is None  # type: ignore[attr-defined]
    assert named_pipeline("eras", era="2020-01")[0].era == "2020-01"  # type: ignore[attr-defined]
    register_pipeline("none", lambda: [InferType()])
    with pytest.raises(PassError, match="the pipeline 'none' has no variant for an era"):
        named_pipeline("none", era="2020-01")


@pytest.mark.parametrize("name", ["dnnl", "ccompiler"])
@pytest.mark.parametrize("era", ["2020-01", "0.16"])
def test_each_pass_of_a_pipeline_has_its_variant_of_the_era(name: str, era: str) -> None:
    passes = named_pipeline(name, era)
    found = {p.name: p.era for p in passes if hasattr(p, "era")}
    assert found["AnnotateTarget"] == ("0.16" if era == "0.16" else None)
    assert found["PartitionGraph"] == (None if era == "0.16" else "2020-01")
    folding = make_pass("FoldConstant", era)
    assert isinstance(folding, FoldConstant) and folding.era == FoldConstant.era_of(era)
    for p in passes:
        if p.eras:
            with pytest.raises(PassError, match=f"{p.name}: era must be None or .*found '2019'"):
                p.checked_era("2019")


def test_misspelt_pipeline_error_suggests_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"no pipeline is named 'dnl'; .*dnnl"):
        named_pipeline("dnl")
