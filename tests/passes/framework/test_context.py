"""PassContext: settings, validation, nesting, and the passes that it enables."""

from __future__ import annotations

import pytest

from byoc_lab.errors import ConfigError
from byoc_lab.passes import PassContext
from byoc_lab.passes.framework.instrument import PassInfo, PassInstrument


def test_unknown_setting_is_refused_until_it_is_registered() -> None:
    with pytest.raises(ConfigError, match=r"no pass has a setting 'relay\.ext\.mine\.tiles'"):
        PassContext(config={"relay.ext.mine.tiles": 4})
    PassContext.register_config("relay.ext.mine.tiles", int)
    assert PassContext(config={"relay.ext.mine.tiles": 4}).config == {"relay.ext.mine.tiles": 4}
    assert PassContext.list_configs()["relay.ext.mine.tiles"] == {"type": "IntImm"}
    with pytest.raises(ConfigError, match="must be int, found 'four'"):
        PassContext(config={"relay.ext.mine.tiles": "four"})


def test_printed_context_lists_its_settings() -> None:
    context = PassContext(opt_level=3, required_pass=["FoldConstant"], disabled_pass=["A", "B"])
    lines = [line.strip() for line in str(context).splitlines()]
    assert lines[:5] == [
        "Pass context information:",
        "opt_level: 3",
        'required passes: ["FoldConstant"]',
        'disabled passes: ["A", "B"]',
        "instruments: []",
    ]
    with pytest.raises(ConfigError, match="opt_level must be an int, found '3'"):
        PassContext(opt_level="3")  # type: ignore[arg-type]


def test_context_enables_passes_by_level_requirement_and_disabling() -> None:
    context = PassContext(opt_level=1, required_pass=["deep"], disabled_pass=["off"])
    assert context.enables(PassInfo(3, "deep")) and context.enables(PassInfo(1, "plain"))
    assert context.why_skipped(PassInfo(0, "off")) == "it is disabled"
    assert context.why_skipped(PassInfo(2, "other")) == "it needs opt_level 2, the context has 1"


def test_contexts_nest_and_the_level_can_be_changed_alone() -> None:
    outside = PassContext.current()
    assert not PassContext.is_active()
    with PassContext(opt_level=3, disabled_pass=["off"]) as outer:
        assert PassContext.current() is outer and PassContext.is_active()
        with outer.at_opt_level(1) as inner:
            assert PassContext.current() is inner
            assert (inner.opt_level, inner.disabled_pass) == (1, ["off"])
        assert PassContext.current() is outer and outer.opt_level == 3
    assert PassContext.current() is outside


def test_earlier_instruments_exit_if_a_later_one_raises_on_entry() -> None:
    seen: list[str] = []

    class First(PassInstrument):
        def enter_pass_ctx(self) -> None:
            seen.append("enter")

        def exit_pass_ctx(self) -> None:
            seen.append("exit")

    class Second(PassInstrument):
        def enter_pass_ctx(self) -> None:
            raise RuntimeError("on purpose")

    with (
        pytest.raises(RuntimeError, match="on purpose"),
        PassContext(instruments=[First(), Second()]),
    ):
        pass
    assert seen == ["enter", "exit"] and not PassContext.is_active()


@pytest.mark.parametrize("argument", ["required_pass", "disabled_pass", "instruments", "config"])
def test_context_arguments_of_other_types_are_refused(argument: str) -> None:
    with pytest.raises(ConfigError, match=f"{argument} must be a"):
        PassContext(**{argument: 3})  # type: ignore[arg-type]
