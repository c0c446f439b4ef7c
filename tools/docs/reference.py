"""Reference pages, generated from the code: signatures, docstrings, passes before and after."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import byoc_lab
from byoc_lab import backends, cli, errors, relay, transform
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.explaining.messages import ALL
from byoc_lab.lessons import cases
from byoc_lab.lessons.cases.networks import batch_norm, conv, image, typed
from byoc_lab.passes import PassContext
from byoc_lab.relay.ir.module import IRModule

FRAMEWORK = {"FunctionPass", "ModulePass", "Pass", "PassContext", "PassInfo", "Sequential"}
"""What `byoc_lab.transform` has beside passes."""


def pages() -> dict[str, str]:
    """The text of each page, by its file."""
    return {
        "front-door.md": front_door(),
        "commands.md": commands(),
        "passes.md": passes(),
        "back-ends.md": back_ends(),
        "errors.md": all_errors(),
    }


def _plain(text: str) -> str:
    """A docstring as preformatted text: it is written for a terminal."""
    return f"````text\n{inspect.cleandoc(text)}\n````"


def _signature(obj: Any) -> str:
    try:
        return str(inspect.signature(obj))
    except (TypeError, ValueError):
        return ""


def _entries(owner: Any, names: Iterable[str], prefix: str) -> Iterator[str]:
    for name in names:
        obj = getattr(owner, name)
        yield f"## {name}"
        if inspect.ismodule(obj):
            yield f"The module `{obj.__name__}`."
        elif callable(obj):
            yield f"```text\n{prefix}{name}{_signature(obj)}\n```"
        yield _plain(inspect.getdoc(obj) or "")


def front_door() -> str:
    """Every name of `byoc_lab`."""
    intro = "# Front door\n\nThe names of `import byoc_lab`."
    return "\n\n".join([intro, *_entries(byoc_lab, byoc_lab.__all__, "byoc_lab.")]) + "\n"


def back_ends() -> str:
    """Every name of `byoc_lab.backends`."""
    intro = (
        "# Back-end API\n\nThe names of `byoc_lab.backends`. "
        "[Bring up a back end](../backends.md) shows them at work."
    )
    return "\n\n".join([intro, *_entries(backends, backends.__all__, "backends.")]) + "\n"


def commands() -> str:
    """The help of every command."""
    whole = cli.parser()
    parts = ["# Commands", _plain(whole.format_help())]
    for action in whole._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                parts += [f"## {name}", _plain(sub.format_help())]
    return "\n\n".join(parts) + "\n"


def samples() -> list[IRModule]:
    """Modules on which passes are shown; the first that a pass changes is taken."""
    x = relay.var("x", shape=(2, 4))
    shared = relay.nn.relu(x)
    annotated = transform.AnnotateTarget("dnnl")(typed(relay.exp(relay.nn.relu(x))))
    found = [
        typed(relay.nn.relu(batch_norm(conv(image())))),
        transform.SimplifyInference()(typed(relay.nn.relu(batch_norm(conv(image()))))),
        typed(relay.multiply(relay.reshape(relay.reshape(x, (8,)), (4, 2)), relay.const(1.0))),
        typed(relay.nn.bias_add(x, relay.const(np.ones(4, "float32")))),
        typed(relay.add(relay.exp(shared), shared)),
        typed(relay.add(relay.exp(relay.nn.relu(x)), relay.nn.relu(x))),
        transform.ToANormalForm()(typed(relay.add(relay.exp(shared), shared))),
        annotated,
        transform.MergeCompilerRegions()(annotated),
    ]
    return [*found, transform.PartitionGraph()(found[-1])]


def passes() -> str:
    """Every pass with its docstring and, where a sample shows it, a module before and after."""
    parts = ["# Passes", "The passes of `byoc_lab.transform`, each with a module before and after."]
    modules = samples()
    found = {n for n in dir(transform) if n[0].isupper() and callable(getattr(transform, n))}
    names = sorted(found - FRAMEWORK)
    for name in names:
        make = getattr(transform, name)
        parts += [f"## {name}", f"```text\n{name}{_signature(make)}\n```"]
        parts.append(_plain(inspect.getdoc(make) or ""))
        parts += _shown(make, modules)
    return "\n\n".join(parts) + "\n"


def _shown(make: Any, modules: list[IRModule]) -> Iterator[str]:
    arguments = ("dnnl",) if make is transform.AnnotateTarget else ()
    try:
        one = make(*arguments)
    except (TypeError, ByocLabError):
        return  # it needs arguments that say what to do
    for mod in modules:
        try:
            with PassContext(opt_level=4):
                after = one(mod)
        except (TypeError, ByocLabError):
            return  # no pass, or one that needs more than a module
        before, changed = (m.astext(show_meta_data=False, show_types=False) for m in (mod, after))
        if before != changed:
            for word, text in (("Before", before), ("After", changed)):
                yield f"{word}:\n\n````text\n{text.split(chr(10) + '/* For debugging')[0]}\n````"
            return


def all_errors() -> str:
    """Every error class, and every message that `decode` knows."""
    parts = ["# Errors", "## Classes"]
    for name, cls in sorted(vars(errors).items()):
        if inspect.isclass(cls) and issubclass(cls, ByocLabError):
            bases = ", ".join(f"`{b.__name__}`" for b in cls.__bases__)
            doc = " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())
            parts.append(f"* `{name}` ({bases}): {doc}")
    parts += [
        "## Messages that decode knows",
        "| Name | Said by | Cause | To do |\n|---|---|---|---|",
    ]
    rows = (f"| {m.name} | {m.era} | {_cell(m.cause)} | {_cell(m.todo)} |" for m in ALL)
    parts[-1] += "\n" + "\n".join(rows)
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def museum() -> str:
    """The page of every case."""
    parts = [
        "# Museum",
        "Troubles that people met with BYOC. Live cases are reproduced here, some under an era; "
        "dump cases are recorded texts, written for the case, of faults that no version that runs "
        "here has. `byoc_lab.lessons.cases` shows them as a table in a notebook.",
        "| Case | Kind | What happens | Stated by |\n|---|---|---|---|\n"
        + "\n".join(
            f"| [{c.name}](#{c.name}) | {c.kind} | {_cell(c.title)} | {c.cause or '-'} |"
            for c in cases.table()
        ),
    ]
    for case in cases.table():
        said = case.diagnosis()
        source = f"[{case.reference}]({case.link})" if case.link else case.reference
        parts += [
            f"## {case.name}",
            f"*{case.kind}; {case.era}*",
            case.story,
            f"Symptom: {case.shown()}",
            f"What {said.tool} says:\n\n````text\n{said.text}\n````",
            f"Fix: {case.fix}",
            f"Reference: {source}",
        ]
    return "\n\n".join(parts) + "\n"
