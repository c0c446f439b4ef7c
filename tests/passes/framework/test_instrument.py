"""The instruments of the package: timing, printing, tracing."""

from __future__ import annotations

import re

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.passes import PassContext, module_pass
from byoc_lab.passes.framework.instrument import (
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)
from byoc_lab.relay import IRModule, structural_equal
from byoc_lab.relay.testing import resnet
from byoc_lab.transform import FoldConstant, FoldScaleAxis, InferType, Sequential
from tests.fuzz.examine import all_passes

LINE = re.compile(r"(\t*)(\w+): (\d+)us \[(\d+)us\] \((\d+\.\d\d)%; (\d+\.\d\d)%\)\n")


def _module() -> IRModule:
    x = relay.var("x", shape=(2, 2))
    three = relay.add(relay.const(1.0), relay.const(2.0))
    return IRModule.from_expr(relay.nn.relu(relay.add(x, three)))


def test_times_are_nested_like_the_passes() -> None:
    timing = PassTimingInstrument()
    with PassContext(opt_level=3, instruments=[timing]):
        Sequential([InferType(), FoldScaleAxis()], name="mine")(_module())
        text = timing.render()
    lines = LINE.findall(text)
    assert LINE.sub("", text) == ""
    assert [tabs + name for tabs, name, *_ in lines] == [
        "mine", "\tInferType", "\tFoldScaleAxis",
        "\t\tInferType", "\t\tBackwardFoldScaleAxis", "\t\t\tInferType",
        "\t\tInferType", "\t\tForwardFoldScaleAxis", "\t\t\tInferType",
        "\t\tFoldConstant", "\t\t\tInferType",
    ]  # fmt: skip
    _, _, total, own, of_all, of_parent = lines[0]
    assert of_all == of_parent == "100.00" and int(own) <= int(total)
    assert timing.render() == ""  # its context has ended


def test_times_are_kept_after_a_pass_that_raises() -> None:
    @module_pass(opt_level=0)
    def broken(mod: IRModule, ctx: PassContext) -> IRModule:
        raise ValueError("on purpose")

    @module_pass(opt_level=0)
    def careful(mod: IRModule, ctx: PassContext) -> IRModule:
        with pytest.raises(ValueError, match="on purpose"):
            broken(mod)
        return mod

    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        careful(_module())
        InferType()(_module())
        names = [tabs + name for tabs, name, *_ in LINE.findall(timing.render())]
    assert names == ["careful", "\tbroken", "InferType"]


def test_modules_are_printed_around_chosen_passes(capsys: pytest.CaptureFixture[str]) -> None:
    mod = InferType()(_module())
    with PassContext(instruments=[PassPrintingInstrument(["FoldConstant"], ["FoldConstant"])]):
        after = FoldConstant()(mod)
    before_text = f"Print IR before: FoldConstant\n{mod}\n\n\n"
    assert capsys.readouterr().out == f"{before_text}Print IR after: FoldConstant\n{after}\n\n\n"


@pytest.mark.parametrize(
    ("instrument", "word"), [(PrintBeforeAll, "Before"), (PrintAfterAll, "After")]
)
def test_modules_are_printed_around_all_passes(
    instrument: type, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with PassContext(instruments=[instrument()]):
        InferType()(_module())
    head = f"{word} Running Pass: The meta data of the pass - pass name: InferType, opt_level: 0"
    assert capsys.readouterr().out.startswith(head)


def test_old_trace_function_is_called_before_and_after_each_pass() -> None:
    seen = []
    with PassContext(trace=lambda mod, info, is_before: seen.append((info.name, is_before))):
        InferType()(_module())
    assert seen == [("InferType", True), ("InferType", False)]


def test_trace_notifies_the_instruments_of_its_context() -> None:
    seen: list[str] = []

    @pass_instrument
    class Names:
        def run_before_pass(self, mod: IRModule, info: object) -> None:
            seen.append(info.name)  # type: ignore[attr-defined]

    with PassContext(instruments=[Names()]):
        byoc_lab.trace(_module(), [InferType(), FoldConstant()])
        traced, seen[:] = list(seen), []
        Sequential([InferType(), FoldConstant()])(_module())
    assert traced == seen == ["sequential", "InferType", "FoldConstant", "InferType"]


@pytest.fixture(scope="module")
def networks() -> list[IRModule]:
    """Operators of each kind, with a shape as argument; and the same with annotations."""
    mod, _ = resnet.get_workload(num_layers=18, image_shape=(3, 32, 32), num_classes=10)
    func = mod["main"]
    flat = relay.reshape(func.body, relay.const([-1], "int64"))
    plain = InferType()(IRModule.from_expr(func.replace(body=flat, ret_type=None)))
    return [plain, byoc_lab.transform.AnnotateTarget("dnnl")(plain)]


@pytest.mark.filterwarnings("ignore:.*FTVMMixedPrecisionConversionType:UserWarning")
@pytest.mark.parametrize("name", sorted(all_passes()))
def test_result_of_a_pass_does_not_depend_on_listeners(name: str, networks: list[IRModule]) -> None:
    chosen = all_passes()[name]

    def outcome(mod: IRModule) -> IRModule | str:
        try:
            return chosen(mod)
        except ByocLabError as error:
            return str(error)

    for mod in networks:
        alone = outcome(mod)
        with PassContext(instruments=[PassTimingInstrument()]):
            recorded = outcome(mod)
        if isinstance(alone, str):
            assert alone == recorded
        else:
            assert structural_equal(alone, recorded) and (alone is mod) == (recorded is mod)
