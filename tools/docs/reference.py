"""The generated reference pages: passes with modules before and after, errors, case studies."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from byoc_lab import errors, relay, transform
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.explaining.messages import ALL
from byoc_lab.lab.explaining.messages.record import Message
from byoc_lab.lessons import cases
from byoc_lab.lessons.cases.networks import batch_norm, conv, image, typed
from byoc_lab.passes import Pass, PassContext
from byoc_lab.passes.framework.hook import Event, Note, listening
from byoc_lab.relay.ir.module import IRModule
from tools.docs import rules
from tools.docs.entries import Entries
from tools.docs.error_classes import error_classes
from tools.docs.rewrites import Rewrite, rewrites
from tools.docs.source import Sources
from tools.docs.symptoms import Symptom

PASSES, ERRORS = "passes.md", "errors.md"
ERROR = re.compile(r"^## (\w+Error)$", re.M)
FRAMEWORK = {"FunctionPass", "ModulePass", "Pass", "PassContext", "PassInfo", "Sequential"}
"""What `byoc_lab.transform` has beside passes."""
HALF, ZERO = relay.const(0.5), relay.const(0)
SEEN = 400
"""Characters of a message that are shown."""


def pages(
    entries: Entries, found: list[Symptom], given: Mapping[str, str], sources: Sources
) -> dict[str, str]:
    """The text of each page, by its file. given: the pages of docs/reference, by their files."""
    classes = ERROR.sub(_error, given[ERRORS]).strip()
    errors_page = f"{classes}\n\n{known_messages(found)}"
    return {PASSES: passes(entries, given[PASSES], sources), ERRORS: errors_page}


def samples() -> list[IRModule]:
    """Modules for examples of passes; the first module that a pass rewrites is used."""
    x = relay.var("x", shape=(2, 4))
    shared = relay.nn.relu(x)
    integers = relay.qnn.op.dequantize(relay.var("q", shape=(2, 4), dtype="int8"), HALF, ZERO)
    sums = relay.var("sums", shape=(2, 4), dtype="int32")
    padded = relay.nn.pad(image(), ((0, 0), (0, 0), (1, 1), (1, 1)))
    scale = relay.const(np.full((8, 1, 1), 2, "float32"))
    bodies = [
        relay.nn.relu(batch_norm(conv(image()))),
        relay.multiply(relay.reshape(relay.reshape(x, (8,)), (4, 2)), relay.const(1.0)),
        relay.nn.bias_add(x, relay.const(np.ones(4, "float32"))),
        relay.add(relay.exp(shared), shared),
        relay.add(relay.exp(relay.nn.relu(x)), relay.nn.relu(x)),
        relay.divide(x, relay.const(4.0)),
        relay.reshape(x, relay.shape_of(relay.var("y", shape=(4, 2)))),
        relay.qnn.op.quantize(relay.nn.relu(integers), HALF, ZERO),
        conv(padded),
        conv(relay.multiply(image(), scale)),
        relay.clip(
            relay.qnn.op.requantize(sums, HALF, ZERO, HALF, ZERO, out_dtype="int8"), -128, 127
        ),
    ]
    found = [typed(body) for body in bodies]
    untyped = transform.ToANormalForm()(found[3])
    named = transform.InferType()(untyped)
    annotated = transform.AnnotateTarget("dnnl")(typed(relay.exp(relay.nn.relu(x))))
    merged = transform.MergeCompilerRegions()(annotated)
    simplified = transform.SimplifyInference()(found[0])
    partitioned = transform.PartitionGraph()(merged)
    return [found[0], simplified, *found[1:], named, annotated, merged, partitioned, untyped]


def passes(entries: Entries, examples: str, sources: Sources) -> str:
    """Every pass with its docstring and an example, or a sample module before and after it.

    examples: the page with examples for passes that change no sample.
    """
    head, *sections = re.split(r"^## ", examples, flags=re.M)
    written = dict(section.split("\n", 1) for section in sections)
    parts = [head.strip()]
    modules = samples()
    found = {n for n in dir(transform) if n[0].isupper() and callable(getattr(transform, n))}
    for name in sorted(found - FRAMEWORK):
        make = getattr(transform, name)
        example = [written[name].strip()] if name in written else _shown(make, modules)
        parts += [f"## {name}", *entries.body(make, name), *_rewrites(make, sources), *example]
    return "\n\n".join(parts) + "\n"


def _own_rewrites(make: Any) -> list[Rewrite]:
    """The rewrites of a pass; none for other objects."""
    return rewrites(make) if inspect.isclass(make) and issubclass(make, Pass) else []


def _rewrites(make: Any, sources: Sources) -> Iterator[str]:
    found = _own_rewrites(make)
    if found:
        yield "**Rewrites**"
        yield "\n".join(f"* `{r.name}`: {sources.line(r.file, r.line)}" for r in found)


def _shown(make: Any, modules: list[IRModule]) -> Iterator[str]:
    arguments = ("dnnl",) if make is transform.AnnotateTarget else ()
    try:
        one = make(*arguments)
    except (TypeError, ByocLabError):
        return  # it requires arguments
    own = _own_rewrites(make)
    for mod in modules:
        noted: list[Event | Note] = []
        try:
            with PassContext(opt_level=4), listening(noted.append):
                after = one(mod)
        except (TypeError, ByocLabError):
            return  # not a pass, or it needs more than a module
        before, changed = (m.astext(show_meta_data=False, show_types=False) for m in (mod, after))
        made = any(found.covers(event.rule) for found in own for event in noted)
        if before != changed and (made or not own):
            for word, text in (("Before", before), ("After", changed)):
                yield f"{word}:\n\n````text\n{text.split(chr(10) + '/* For debugging')[0]}\n````"
            return


def known_messages(found: list[Symptom]) -> str:
    """Every message that `decode` knows."""
    parts = ["## Messages that decode knows", *(_message(message, found) for message in ALL)]
    return "\n\n".join(parts) + "\n"


def _error(heading: re.Match[str]) -> str:
    """The heading of an error class, and the class's own description."""
    cls = error_classes()[heading[1]]
    bases = ", ".join(f"`{base.__name__}`" for base in cls.__bases__)
    doc = " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())
    module = "" if cls.__module__ == errors.__name__ else f"In `{cls.__module__}`. "
    advice = [f"**To do**: {_prose(cls.advice)}."] if "advice" in vars(cls) else []
    head = f"## {cls.__name__} {{ #{cls.__name__} }}"
    return "\n\n".join([head, f"{module}Bases: {bases}", doc, *advice])


def _message(message: Message, found: list[Symptom]) -> str:
    """The section of a message: its text, the cause, the remedy, and links."""
    known = rules.addresses()
    more = [f"[{s.title}](../how-to/{s.page})" for s in found if message.name in s.messages]
    more += [f"[{code}](../{known[code]})" for code in message.rules]
    more += [f"[{message.lesson}](../case-studies.md#{message.lesson})"] if message.lesson else []
    parts = [
        f"### {message.name} {{ #message-{message.name} }}",
        f"```output\n{message.samples[0].strip()[:SEEN]}\n```",
        f"*{message.era}.* {_prose(message.cause)}.",
        f"**To do**: {_prose(message.todo)}.",
        f"More: {', '.join(more)}." if more else "",
    ]
    return "\n\n".join(filter(None, parts))


def _prose(text: str) -> str:
    return re.sub(r"([<{*_\[|])", r"\\\1", " ".join(text.split()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def case_studies() -> str:
    """The page of every case."""
    parts = [
        "# Case studies",
        "Bugs that people met with BYOC. Live cases are reproduced by byoc_lab, some with an era; "
        "dump cases are texts, written for the case, of faults that no version of the passes here "
        "reproduces. `byoc_lab.lessons.cases` shows all cases as a table in a notebook.",
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
