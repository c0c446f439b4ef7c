"""The search of reduce: its budget, its state, its processes, and its predicate."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.errors import ArgumentError, InputError, PassError, ReductionError
from byoc_lab.lab.checking.progress import ProgressUpdate
from byoc_lab.relay import IRModule
from tests.lab.reducing.networks import chain, convolution, operators, tanh_then_sigmoid
from tests.lab.reducing.test_reducer import has


@pytest.mark.parametrize("stop", [1, 2, 7, 20])
def test_interrupted_search_resumes_with_the_same_result(tmp_path: Path, stop: int) -> None:
    whole_calls, calls = [], []

    def asked(into: list[IRModule], stop: int | None = None) -> Callable[[IRModule], bool]:
        def predicate(mod: IRModule) -> bool:
            if len(into) == stop:
                raise KeyboardInterrupt
            into.append(mod)
            return has("nn.batch_norm", "nn.dense")(mod)

        predicate.__qualname__ = "the same"
        return predicate

    mod, state = convolution(), tmp_path / "state"
    whole = byoc_lab.reduce(mod, asked(whole_calls))
    with pytest.raises(KeyboardInterrupt):
        byoc_lab.reduce(mod, asked(calls, stop), state=state)
    with state.open("a") as file:
        file.write("hol")  # an incomplete line
    rest: list[IRModule] = []
    resumed = byoc_lab.reduce(mod, asked(rest), state=state)
    assert str(resumed.module) == str(whole.module) and str(resumed.passing) == str(whole.passing)
    assert resumed.calls == whole.calls == len(whole_calls) == len(calls) + len(rest)
    again: list[IRModule] = []
    assert byoc_lab.reduce(mod, asked(again), state=state).steps == whole.steps and not again


def test_state_of_another_search_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    four = chain(4, {0: "tanh", 1: "sigmoid"})
    byoc_lab.reduce(four, tanh_then_sigmoid, state=state)
    changed: list[Callable[[IRModule], bool]] = [
        lambda mod: {"tanh", "sigmoid"} <= set(operators(mod)) and len(mod.functions) < 2,
        lambda mod: {"tanh", "sigmoid"} <= set(operators(mod)) and len(mod.functions) < 3,
    ]
    byoc_lab.reduce(four, changed[0], state=tmp_path / "changed")
    with pytest.raises(InputError, match="not the state of this search"):
        byoc_lab.reduce(four, changed[1], state=tmp_path / "changed")
    for mod, predicate in ((chain(5, {1: "tanh"}), tanh_then_sigmoid), (four, has("tanh"))):
        with pytest.raises(InputError, match="not the state of this search"):
            byoc_lab.reduce(mod, predicate, state=state)
    state.write_text("something else\n")
    with pytest.raises(InputError, match="a file of another kind"):
        byoc_lab.reduce(four, tanh_then_sigmoid, state=state)
    assert state.read_text() == "something else\n"


def test_state_that_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path, tmp_path / "none" / "state"):
        with pytest.raises(OSError):
            byoc_lab.reduce(chain(4, {1: "tanh"}), has("tanh"), state=path)


@pytest.mark.parametrize("budget", [1, 2, 10, 25])
def test_budget_is_kept_and_stated_in_the_result(budget: int) -> None:
    asked: list[IRModule] = []

    def predicate(mod: IRModule) -> bool:
        asked.append(mod)
        return has("nn.batch_norm", "nn.dense")(mod)

    found = byoc_lab.reduce(convolution(), predicate, budget=budget)
    assert len(asked) == found.calls == budget and not found.minimal
    assert predicate(found.module) and "the budget was used up" in str(found)


def test_processor_time_is_limited_only_on_request() -> None:
    found = byoc_lab.reduce(convolution(), has("nn.dense"), seconds=0.0)
    assert found.calls == 1 and not found.minimal


def test_predicate_that_does_not_hold_at_first_is_an_error() -> None:
    with pytest.raises(InputError, match="does not hold for the module that was given"):
        byoc_lab.reduce(chain(4, {}), tanh_then_sigmoid)


def test_byoc_lab_error_of_a_predicate_counts_as_false() -> None:
    def predicate(mod: IRModule) -> bool:
        if "tanh" not in operators(mod):
            raise PassError("no tanh")
        return True

    found = byoc_lab.reduce(chain(30, {12: "tanh"}), predicate)
    assert operators(found.module) == ["tanh"] and found.raised > 0
    assert "raised an error of byoc_lab" in str(found)
    with pytest.raises(PassError, match="no tanh"):
        byoc_lab.reduce(chain(30, {}), predicate)


def test_any_other_exception_ends_the_search_and_keeps_the_state(tmp_path: Path) -> None:
    def predicate(mod: IRModule) -> bool:
        return mod["main"].body.args[0].op.name == "tanh"  # type: ignore[no-any-return]

    mod = IRModule.from_expr(relay.abs(relay.tanh(relay.exp(relay.var("x", shape=(2,))))))
    state = tmp_path / "state"
    with pytest.raises(ReductionError, match="raised AttributeError") as caught:
        byoc_lab.reduce(mod, predicate, state=state)
    assert isinstance(caught.value.__cause__, AttributeError)
    assert isinstance(caught.value.module, IRModule)
    assert str(caught.value.module) in caught.value.args[0] and str(state) in str(caught.value)
    with pytest.raises(AttributeError):
        predicate(caught.value.module)
    assert len(state.read_text().splitlines()) >= 2


def test_listener_observes_each_call() -> None:
    told: list[ProgressUpdate] = []
    found = byoc_lab.reduce(chain(20, {5: "tanh"}), has("tanh"), progress=told.append)
    assert len(told) == found.calls
    assert told[0].at == "the module as it was given" and told[1].at.startswith("20 operators, ")


def test_search_resumes_in_another_process(tmp_path: Path) -> None:
    """The state does not depend on string hashes, which differ between processes."""
    script = tmp_path / "search.py"
    script.write_text(
        "import sys\n"
        "from byoc_lab import reduce, relay\n"
        "asked = 0\n"
        "def wanted(mod):\n"
        "    global asked\n"
        "    asked += 1\n"
        "    words = str(mod).replace('(', ' ').split()\n"
        "    return any(w in {'tanh', 'sigmoid', 'erf'} for w in words)\n"
        "x = relay.var('x', shape=(2, 3))\n"
        "mod = relay.IRModule.from_expr(relay.exp(relay.tanh(relay.abs(x))))\n"
        f"found = reduce(mod, wanted, state={str(tmp_path / 'state')!r})\n"
        "print(asked, found.calls, found.steps)\n"
    )
    told = []
    for seed in ("1", "2"):
        settings = {**os.environ, "PYTHONHASHSEED": seed}
        run = [sys.executable, str(script)]
        done = subprocess.run(run, capture_output=True, text=True, env=settings)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.split(" ", 1))
    assert told[0][1] == told[1][1] and told[0][0] != "0" and told[1][0] == "0"


@pytest.mark.slow  # each crash starts another process
def test_crash_of_the_worker_process_does_not_end_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "aborting_predicate.py").write_text(
        "import os, signal\n"
        "def keeps_both(mod):\n"
        "    text = str(mod)\n"
        "    if 'sigmoid' not in text:\n"
        "        os.abort()\n"
        "    if 'tanh' not in text:\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    return True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from aborting_predicate import keeps_both  # type: ignore[import-not-found]

    net = chain(12, {3: "tanh", 8: "sigmoid"})
    found = byoc_lab.reduce(net, keeps_both, guarded=True)
    expected = byoc_lab.reduce(net, has("tanh", "sigmoid"))
    assert operators(found.module) == ["tanh", "sigmoid"] and found.minimal and found.raised
    assert found.steps == expected.steps and found.calls == expected.calls
    with pytest.raises(InputError, match="SIGABRT"):
        byoc_lab.reduce(chain(3, {}), keeps_both, guarded=True)


def test_predicate_that_another_process_cannot_import_is_refused() -> None:
    with pytest.raises(ArgumentError, match="leave out guarded=True"):
        byoc_lab.reduce(chain(3, {0: "tanh"}), has("tanh"), guarded=True)


@pytest.mark.slow
def test_back_end_that_another_process_lacks_is_refused() -> None:
    """Otherwise the predicate would fail there because the back end is unknown."""
    backends.register("only_here", supports=["tanh"])
    try:
        with pytest.raises(InputError, match=r"no back end is registered as 'only_here'.*--import"):
            byoc_lab.reduce(chain(3, {0: "tanh"}), "crash:x", target="only_here", guarded=True)
    finally:
        backends.unregister("only_here")


def test_predicate_that_returns_a_text_is_refused() -> None:
    with pytest.raises(ReductionError, match="expected True or False, found the text 'no'"):
        byoc_lab.reduce(chain(3, {}), lambda mod: "no")  # type: ignore[arg-type, return-value]
