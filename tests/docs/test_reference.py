"""The reference has an entry with an example for each public name and each command."""

from __future__ import annotations

import inspect
import re

import byoc_lab
from byoc_lab import backends, importers, lessons, relax, transform
from byoc_lab.relay import Op
from tools.docs import commands, operators
from tools.docs.docstrings import parts
from tools.docs.entries import Entries, names, resolve
from tools.docs.error_classes import error_classes
from tools.docs.examples import BLOCK, DOCS
from tools.docs.reference import ERROR, ERRORS, PASSES, passes
from tools.docs.rewrites import rewrites
from tools.docs.source import Sources

PAGES = {p.name: p.read_text(encoding="utf-8") for p in (DOCS / "reference").glob("*.md")}
SECTIONS = [s for text in PAGES.values() for s in re.split(r"^## ", text, flags=re.M)[1:]]


def public() -> dict[str, object]:
    """Functions and classes of the public packages; those in two packages count once."""
    found: dict[str, object] = {}
    for package in (byoc_lab, backends, importers, lessons, relax):
        for name in package.__all__:
            value = getattr(package, name)
            if callable(value) and not any(value is known for known in found.values()):
                found[f"{package.__name__}.{name}"] = value
    return found


def test_every_public_name_has_one_entry() -> None:
    entries = [name for text in PAGES.values() for name in names(text)]
    assert len(set(entries)) == len(entries)
    assert public().keys() <= set(entries), sorted(public().keys() - set(entries))


def test_every_command_has_one_entry() -> None:
    assert sorted(commands.HEADING.findall(PAGES["commands.md"])) == sorted(commands.commands())


def test_every_entry_has_an_example_with_its_output() -> None:
    without = [section for section in SECTIONS if "```output\n" not in section]
    assert [section.partition("\n")[0] for section in without] == []


def test_every_error_class_has_one_entry_with_a_separate_example() -> None:
    entries = re.split(ERROR, PAGES[ERRORS])[1:]
    assert sorted(entries[::2]) == sorted(error_classes())
    for name, entry in zip(entries[::2], entries[1::2], strict=True):
        assert name in "".join(part for block in BLOCK.findall(entry) for part in block)


def test_every_operator_has_one_example_with_its_output_from_its_sample_calls() -> None:
    shown = {path: path.read_text(encoding="utf-8") for path in operators.FOLDER.glob("*.md")}
    unrun = {path: operators.without_outputs(text) for path, text in shown.items()}
    assert unrun == operators.pages(), "run make generate"
    sections = [s for text in shown.values() for s in re.split(r"^## ", text, flags=re.M)[1:]]
    names = sorted(section.partition("\n")[0] for section in sections)
    assert names == [n for n in Op.list_op_names() if not n.startswith("test.")]
    for section in sections:
        assert "```output\n" in section and section.partition("\n")[0] in section.split("```")[1]


def test_every_pass_has_options_rewrites_and_an_example_or_a_module_before_and_after() -> None:
    sources = Sources()
    shown = passes(Entries(PAGES, sources), PAGES[PASSES], sources)
    assert "\nAlterOpLayout()\n" in shown
    assert "\nFoldConstant(fold_qnn: bool = False, era: str | None = None)\n" in shown
    assert "*args" not in shown
    (to_product,) = rewrites(transform.DivToMul)
    to = f"../source/byoc_lab/passes/simplify/div_to_mul.html#__codelineno-0-{to_product.line}"
    assert f'\n* `to product`: <a class="source" href="{to}">' in shown
    before, after = shown.split("\n## DivToMul\n")[1].split("After:")[:2]
    assert "divide(%x, 4f)" in before and "multiply(%x, 0.25f)" in after
    assert [
        section.partition("\n")[0]
        for section in shown.split("\n## ")[1:]
        if "```output\n" not in section and "Before:" not in section
    ] == []


def test_every_entry_states_types_of_parameters_and_results() -> None:
    untyped = []
    for text in PAGES.values():
        for name in names(text):
            value = resolve(name)
            if not inspect.isclass(value):
                signature = inspect.signature(value)
                empty = inspect.Parameter.empty
                given = [
                    signature.return_annotation,
                    *(p.annotation for p in signature.parameters.values()),
                ]
                untyped += [name] if empty in given else []
    assert untyped == []


def test_docstring_is_split_into_description_parameters_and_errors() -> None:
    found = parts(
        """Do it.

        mod: a module; target: a name,
            on two lines. size, count: numbers. era="0.16": as it was.

        Not a parameter: this. Raises PassError for a pass
        that fails.
        """,
        ["mod", "target", "size", "count", "era"],
    )
    assert found.description == ["Do it.", "Not a parameter: this."]
    assert found.parameters == {
        ("mod",): "a module",
        ("target",): "a name,\non two lines.",
        ("size", "count"): "numbers.",
        ("era",): '`"0.16"`: as it was.',
    }
    assert found.raises == ["Raises PassError for a pass that fails."]


def test_entry_has_signature_parameters_result_errors_and_source() -> None:
    text = "# Page\n\n## byoc_lab.load_trace\n\nExample.\n\n## byoc_lab.Trace\n"
    shown = Entries({"page.md": text}, Sources()).expanded("page.md")
    assert "## load_trace { #byoc_lab.load_trace }" in shown
    assert "load_trace(path: str | Path, *, max_bytes: int = 268435456) -> Trace\n" in shown
    assert "* `max_bytes` (`int`): the limit for one compressed member" in shown
    assert "**Returns**: [`Trace`](page.md#byoc_lab.Trace)" in shown
    assert "**Raises**: [`ArgumentError`](errors.md#ArgumentError) if `path` is not a path" in shown
    line = inspect.getsourcelines(byoc_lab.load_trace)[1]
    assert f'href="../source/byoc_lab/lab/tracing/loading.html#__codelineno-0-{line}"' in shown
    assert "### Trace.save { #byoc_lab.Trace.save }" in shown
    assert shown.index("Source:") < shown.index("Example.") < shown.index("## Trace {")


def test_command_has_usage_and_arguments() -> None:
    shown = commands.expanded("## byoc-lab course new\n")
    assert "```text\nbyoc-lab course new [-h] [--exercises EXERCISES]" in shown
    assert "| `--exercises EXERCISES` | names, separated by commas (default: all) |" in shown
    assert "| `--format text, json` | (default: text) |" in shown
