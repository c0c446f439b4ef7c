"""`Asker`: asks a predicate about modules, each module once, within a budget, with the answers in a
file."""

from __future__ import annotations

import hashlib
import json
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from byoc_lab.containment.children import ChildError
from byoc_lab.containment.guarded import WorkerProcess
from byoc_lab.errors import ArgumentError, ByocLabError, InputError, ReductionError
from byoc_lab.files import ordinary_file, path_of
from byoc_lab.lab.checking.progress import Progress
from byoc_lab.lab.reducing.tables import Table, table_text
from byoc_lab.relay.ir.expr import Constant
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

Predicate = Callable[..., object]
"""A function of a typed module, or of a module and a pattern table."""

HOLDS, FAILS, RAISED = "holds", "fails", "raised"
SCHEMA = 1
CALL_LIMIT = 120.0
"""Seconds of processor time of one call in a separate process."""


class Exhausted(Exception):
    """The budget is used up; the search ends with its current module."""


class Asker:
    """A predicate with its answers.

    calls: the number of modules that were asked about. An answer from the file counts, so that a
    resumed search gives the same result as an uninterrupted one. raised: the number of modules for
    which the predicate raised a ByocLabError or ended its process, which means that it does not
    hold. guarded: whether the predicate runs in a separate process.
    """

    def __init__(
        self,
        predicate: Predicate,
        name: str,
        budget: int,
        seconds: float | None,
        state: str | Path | None,
        progress: Progress,
        guarded: bool = False,
    ):
        self._guard = WorkerProcess() if guarded else None
        self.predicate, self.name = predicate, name
        self.budget, self.seconds = budget, seconds
        self.progress = progress
        self.calls = self.raised = 0
        self._answers: dict[str, str] = {}
        self._known: dict[str, str] = {}  # unused answers from the file
        self._state = None if state is None else path_of(state)
        self._began = time.process_time()
        self._digests: WeakKeyDictionary[Constant, bytes] = WeakKeyDictionary()

    def begin(self, mod: IRModule, table: Table | None) -> None:
        """Read the answers of an earlier search for this module, or begin a new file.

        Raises ArgumentError if the predicate cannot be sent to a separate process, InputError if
        the file belongs to a different search, and OSError.
        """
        if self._guard is not None:
            self._check_sendable(table)
        if self._state is None:
            return
        head = {"schema": SCHEMA, "kind": "reduction", "module": self.key(mod, table)}
        head |= {"keep": self.name, "code": _code_digest(self.predicate)}
        if self._state.exists() and ordinary_file(self._state).stat().st_size:
            lines = self._state.read_text("utf-8", "replace").split("\n")
            found = _parsed(lines[0])
            if found != head:
                raise InputError(
                    f"{self._state} is not the state of this search: expected the reduction of "
                    f"this module with the predicate {self.name} as it is, found "
                    f"{_described(found)}; name another file, or remove it"
                )
            for line in lines[1:-1]:  # the text after the last line break may be incomplete
                answer, _, key = line.partition(" ")
                if answer in (HOLDS, FAILS, RAISED):
                    self._known[key] = answer
            with self._state.open("a", encoding="utf-8") as file:
                file.write("\n" if lines[-1] else "")
        else:
            self._state.write_text(json.dumps(head) + "\n", encoding="utf-8")

    def holds(self, mod: IRModule, at: str, table: Table | None) -> bool:
        """Whether the predicate holds for a typed module; `at` describes the module to a listener.

        table: the second argument of the predicate; None if it has none.

        Raises Exhausted and ReductionError.
        """
        key = self.key(mod, table)
        if key not in self._answers:
            self._limit()
            self.calls += 1
            self.progress.step(at)
            answer = self._known.get(key) or self._asked(mod, table)
            self.raised += answer == RAISED
            self._answers[key] = answer
            if self._state is not None and key not in self._known:
                with self._state.open("a", encoding="utf-8") as file:
                    file.write(f"{answer} {key}\n")
        return self._answers[key] == HOLDS

    def close(self) -> None:
        """End the separate process, if there is one."""
        if self._guard is not None:
            self._guard.close()

    def _check_sendable(self, table: Table | None) -> None:
        try:
            pickle.dumps((self.predicate, table))
            reason = "it is defined in __main__" if _is_in_main(self.predicate) else ""
        except Exception as error:  # pickle may raise any exception
            reason = str(error)
        if reason:
            raise ArgumentError(
                f"reduce: the predicate {self.name} and its table cannot be sent to another "
                f"process ({reason}); write them into a file and import them, or leave out "
                f"guarded=True"
            )

    def _asked(self, mod: IRModule, table: Table | None) -> str:
        given = (mod,) if table is None else (mod, list(table))
        try:
            if self._guard is not None:
                return self._asked_apart(self._guard, given)
            return _said(self.predicate(*given))
        except ByocLabError:
            if not self._answers:  # the first answer is for the given module
                raise
            return RAISED
        except Exception as error:
            kept = f"; the answers so far are in {self._state}" if self._state is not None else ""
            raise ReductionError(
                f"call {self.calls} of the predicate {self.name} raised {type(error).__name__}: "
                f"{error}{kept}. A predicate returns whether it holds, and a ByocLabError means "
                f"that it does not; .module of this error is the module:\n{mod}",
                mod,
            ) from error

    def _asked_apart(self, guard: WorkerProcess, given: tuple[Any, ...]) -> str:
        """The answer of a separate process. If the process crashes or does not end, the predicate
        does not hold, unless it is a named predicate that asks for this crash."""
        try:
            sent = pickle.dumps((self.predicate, given))
            answer, reason = guard.call(_answer, sent, time_limit=CALL_LIMIT)
        except ChildError as error:
            asks_for = getattr(self.predicate, "is_crash", None)
            if asks_for is not None and error.kind == "crashed" and asks_for(str(error)):
                return HOLDS
            answer, reason = RAISED, str(error)
        if answer == RAISED and not self._answers:
            raise InputError(
                f"reduce: {self.name} gives no answer in a separate process for the module that "
                f"was given: {reason}"
            )
        return str(answer)

    def _limit(self) -> None:
        spent = self.seconds is not None and time.process_time() - self._began >= self.seconds
        if self._answers and (self.calls >= self.budget or spent):
            raise Exhausted

    def key(self, mod: IRModule, table: Table | None) -> str:
        """A hash of the content of a module and a table."""
        made = hashlib.sha256(mod.astext(show_meta_data=False).encode("utf-8", "replace"))
        for func in mod.functions.values():
            for node in post_order(func.body):
                if isinstance(node, Constant):
                    made.update(self._digest(node))
        if table is not None:
            made.update(table_text(table).encode("utf-8", "replace"))
        return made.hexdigest()[:32]

    def _digest(self, constant: Constant) -> bytes:
        if constant not in self._digests:
            array = constant.numpy()
            head = f"{array.dtype} {array.shape} ".encode()
            self._digests[constant] = hashlib.sha256(head + array.tobytes()).digest()
        return self._digests[constant]


def _said(answer: object) -> str:
    """The meaning of an answer. Raises TypeError for a text, which Python would treat as true."""
    if isinstance(answer, str):
        raise TypeError(f"expected True or False, found the text {answer!r:.80}")
    return HOLDS if answer else FAILS


def _answer(sent: bytes) -> tuple[str, str]:
    """Computes in the separate process the answer of a predicate, and the message of a
    ByocLabError. sent: the predicate and its arguments; the predicate may need names that this
    process lacks."""
    try:
        predicate, given = pickle.loads(sent)
        return _said(predicate(*given)), ""
    except ByocLabError as error:
        return RAISED, f"{type(error).__name__}: {error}"


def _is_in_main(predicate: Predicate) -> bool:
    return hasattr(predicate, "__code__") and predicate.__module__ == "__main__"


def _code_digest(predicate: Predicate) -> str:
    """A hash of the code of a function, which may change between two searches; "" for other
    predicates."""
    made = hashlib.sha256()
    todo: list[Any] = [getattr(predicate, "__code__", None)]
    while todo:
        item = todo.pop()
        if isinstance(item, CodeType):
            made.update(item.co_code + repr(item.co_names).encode())
            todo += item.co_consts
        elif isinstance(item, frozenset):  # the order of set elements differs between processes
            made.update(repr(sorted(map(repr, item))).encode())
        else:
            made.update(repr(item).encode())
    return made.hexdigest()[:16] if hasattr(predicate, "__code__") else ""


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _described(found: Any) -> str:
    if isinstance(found, dict) and found.get("kind") == "reduction":
        return f"the reduction of module {found.get('module')} with {found.get('keep')}"
    return "a file of another kind"
