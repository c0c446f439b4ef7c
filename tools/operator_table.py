"""Write docs/operators.md from the definitions: `python tools/operator_table.py`.

`--check` writes nothing and fails if the file is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import byoc_lab.compat  # noqa: F401 (defines operators)
from byoc_lab.relay.ir.attrs import REQUIRED, Attr
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op import IN_COMPAT, OpPattern
from byoc_lab.relay.op.framework.registry import OpDef

TARGET = Path(__file__).resolve().parents[1] / "docs" / "operators.md"
NEED_COMPAT = "Operators that need `import byoc_lab.compat`"
FAMILIES = {
    "": "Tensors",
    "nn": "Neural networks",
    "image": "Images",
    "vision": "Object detection",
    "qnn": "Quantized operators",
    "annotation": "Annotations",
    "dyn": "Dynamic operators on tensors",
    "dyn.nn": "Dynamic operators of neural networks",
    "dyn.image": "Dynamic operators on images",
}
HEAD = """# Operators

All operators of `byoc_lab.relay`, generated from their definitions in `byoc_lab/relay/op` by
`make generate`. Those of the last table, which only scripts written for TVM use, are in
`byoc_lab/compat/op/definitions`. Every operator has type inference and a cost in floating-point
operations. It has a NumPy reference unless the description gives the reason why not.

- Operator: a link to an example.
- Attributes: name, default and meaning. An attribute without a default is required.
- Pattern: the class of the operator for fusion, as in TVM (`TOpPattern`).
- Relax: whether a module with the operator can be built, or the reason why not.
"""


def tables() -> dict[str, list[str]]:
    """The operator names of each table, by the table's title."""
    names = [name for name in Op.list_op_names() if not name.startswith("test.")]
    found = {
        title: sorted(n for n in names if _family(n) == prefix and n not in IN_COMPAT)
        for prefix, title in FAMILIES.items()
    }
    return {title: members for title, members in found.items() if members} | {
        NEED_COMPAT: sorted(IN_COMPAT)
    }


def example_page(title: str) -> str:
    """The file name of the page with examples for a table."""
    name = "compat" if title == NEED_COMPAT else title.lower().replace(" ", "-")
    return f"operators/{name}.md"


def table() -> str:
    """The whole file."""
    parts = [HEAD]
    for title, members in tables().items():
        parts.append(f"\n## {title}\n\n| Operator | Computes | Attributes | Pattern | Relax |\n")
        parts.append("|---|---|---|---|---|\n")
        parts += [_row(Op.get(name).definition, example_page(title)) for name in members]
    return "".join(parts)


def _family(name: str) -> str:
    """The title of the table for an operator. Raises KeyError for a prefix without a title."""
    prefix = name.rpartition(".")[0]
    if prefix not in FAMILIES:
        raise KeyError(f"{name}: add a title for prefix {prefix!r} to FAMILIES")
    return prefix


def _row(d: OpDef, examples: str) -> str:
    arguments = ", ".join(n.rstrip("*") for n in d.inputs)
    fields = d.attrs.fields if d.attrs else ()
    attributes = "<br>".join(map(_attribute, fields)) or "none"
    pattern = OpPattern(d.pattern).name.lower().replace("_", " ")
    relax = "yes" if d.relax else f"no: {d.why_no('relax')}"
    doc = d.doc if d.reference else f"{d.doc} No reference: {d.why_no('reference')}."
    call = f"[`{d.name}({arguments})`]({examples}#{d.name.replace('.', '').lower()})"
    cells = (call, _escaped(doc), attributes, pattern, relax)
    return f"| {' | '.join(cells)} |\n"


def _attribute(field: Attr) -> str:
    default = "" if field.default is REQUIRED else f"={_value(field.default)}"
    return f"`{field.name}{default}` {_escaped(field.doc)}"


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def main(arguments: list[str]) -> int:
    wanted = table()
    if "--check" in arguments:
        fresh = TARGET.exists() and TARGET.read_text(encoding="utf-8") == wanted
        print(f"{TARGET.name} is up to date" if fresh else f"run python {sys.argv[0]}")
        return 0 if fresh else 1
    TARGET.write_text(wanted, encoding="utf-8")
    print(f"wrote {TARGET.name}: {wanted.count(chr(10) + '| [`')} operators")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
