"""Writes the golden files from the oracle: `python -m tests.parity.write_golden [NAME...]`.

A NAME is a golden file, as FuseOps/chain.relay, or a folder of them, as FuseOps; without names
every file is written. `--check` writes nothing and lists the files that would change. The result
depends only on the cases, the plan and TVM.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.relay.op.calls import ALL_CALLS
from tests.relay.op.holes import holes

from . import cases
from .client import Oracle, StepResult, skip_reason
from .facts import graphs, networks, operators, pass_calls
from .fork import TUPLE_TARGETS
from .goldens.files import GoldenFile, all_golden_files, golden_name, golden_path
from .goldens.plan import Golden, longest_runs, plan

# Constants are written up to this many bytes per module; for larger ones only types are.
CONSTANTS_UP_TO = 16_384
HIDDEN = re.compile(r"meta\[(relay\.Constant|tir\.\w+)\]")


# The golden files that are not IR.
TABLES: dict[str, Callable[[], str]] = {
    operators.OPERATORS: lambda: operators.golden_text(
        operators.operator_facts(ALL_CALLS, holes())
    ),
    graphs.GRAPHS: lambda: graphs.golden_text(graphs.graph_facts()),
    networks.FILE: networks.golden_text,
    pass_calls.FILE: pass_calls.golden_text,
}

Results = dict[tuple[str, str], StepResult]


def is_named(path: str, names: Collection[str]) -> bool:
    """Whether a golden file is among these files and folders; without names, every file is."""
    return not names or any(path == name or path.startswith(f"{name}/") for name in names)


def expected_files(oracle: Oracle, names: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """(name, text) of every named golden file, from the oracle.

    Raises ValueError if a step before the pass fails, or if `fork.py` lists a difference that does
    not exist.
    """
    entries = [entry for entry in plan() if is_named(entry.path, names)]
    results = _run(oracle, entries)
    for entry in entries:
        if entry.step is None:
            yield from _printed(results, entry)
        else:
            yield entry.path, str(_golden(results, entry))
    yield from ((name, text()) for name, text in TABLES.items() if is_named(name, names))


def _run(oracle: Oracle, entries: list[Golden]) -> Results:
    """The results of all lists of steps that the entries need; one run also gives the results of
    its prefixes."""
    runs = [*longest_runs(entries), *((case, []) for case in TUPLE_TARGETS.values())]
    results: Results = {}
    for case, steps in runs:
        for result in oracle.run(case, steps, constants_up_to=CONSTANTS_UP_TO):
            results[_key(case, steps[: result.step + 1])] = result
    return results


def _key(case: str, steps: Iterable[Any]) -> tuple[str, str]:
    return case, json.dumps(list(steps))


def _golden(results: Results, entry: Golden) -> GoldenFile:
    before = _sound(results, entry)
    after = results[_key(entry.case, entry.steps)]
    upstream = TUPLE_TARGETS.get(entry.path)
    if upstream is not None:
        own, after = after, results[_key(upstream, [])]
        if own.bare == after.bare:
            raise ValueError(f"{entry.path}: the oracle agrees with {upstream}; see fork.py")
    with_constants = _tells_more(before) or _tells_more(after)
    if with_constants and before.full and (after.full or after.error):
        texts = before.full, after.full
    else:
        texts = before.bare, after.bare
    return GoldenFile(
        about=_about(entry.case),
        case=entry.case,
        before=list(entry.before),
        step=entry.step,
        text_before=texts[0] or "",
        text_after=texts[1],
        error=(after.error.kind, after.error.message) if after.error else None,
        upstream=upstream,
    )


def _printed(results: Results, entry: Golden) -> Iterator[tuple[str, str]]:
    """The text without metadata and, if it differs, the text with metadata."""
    result = _sound(results, entry)
    texts = {"": result.bare}
    if result.full is not None and result.full != result.bare:
        texts["_metadata"] = result.full
    for ending, text in texts.items():
        file = GoldenFile(_about(entry.case), entry.case, list(entry.before), None, text or "")
        yield entry.path.replace(".relay", f"{ending}.relay"), str(file)


def _sound(results: Results, entry: Golden) -> StepResult:
    """The module after the steps before the pass.

    Raises ValueError if one of them fails.
    """
    result = results.get(_key(entry.case, entry.before))
    if result is None or result.error is not None:
        raise ValueError(f"{entry.path}: the steps before the pass fail: {result}")
    return result


def _tells_more(result: StepResult) -> bool:
    """Whether the text without metadata omits constants, or sizes."""
    return result.bare is not None and HIDDEN.search(result.bare) is not None


def _about(case: str) -> str:
    """The description of a case: the title of a text, or the docstring of a builder or its
    module."""
    if "/" in case:
        text = (cases.HERE / f"{case}.relay").read_text(encoding="utf-8")
        title = next(line for line in text.split("\n") if line.startswith("// title: "))
        title = title[len("// title: ") :]
        return _sentence(title[0].upper() + title[1:])
    module, _, function = case.partition(".")
    tree = ast.parse((cases.HERE / f"{module}.py").read_text(encoding="utf-8"))
    builders = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    # A case made by another function has no docstring.
    builder = next((node for node in builders if node.name == function), None)
    described = ast.get_docstring(builder) if builder is not None else None
    if described is None:
        return _sentence(f"{function.replace('_', ' ')}: {_first_line(ast.get_docstring(tree))}")
    return _sentence(_first_line(described))


def _first_line(text: str | None) -> str:
    return (text or "").split("\n")[0]


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def main(arguments: list[str]) -> int:
    names = [a.rstrip("/") for a in arguments if a != "--check"]
    present = [golden_name(path) for path in all_golden_files()]
    known = [*TABLES, *present, *(entry.path for entry in plan())]
    for name in names:
        if not any(is_named(path, [name]) for path in known):
            print(f"no golden file or folder is named {name!r}", file=sys.stderr)
            return 2
    reason = skip_reason()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 2
    oracle = Oracle.find()
    assert oracle is not None
    with oracle:
        files = dict(expected_files(oracle, names))
    changed = [name for name, text in files.items() if _content(golden_path(name)) != text]
    stale = sorted(path for path in present if path not in files and is_named(path, names))
    if "--check" in arguments:
        print("\n".join(changed + stale) or f"all {len(files)} golden files are up to date")
        return 1 if changed or stale else 0
    for name in stale:
        golden_path(name).unlink()
    for name in changed:
        path = golden_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name], encoding="utf-8")
    print(f"{len(files)} golden files, {len(changed)} written, {len(stale)} removed")
    return 0


def _content(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
