"""A script that shows for which of two modules a predicate holds."""

from __future__ import annotations

import sys
from typing import Any

from byoc_lab.lab.reducing.named import NamedPredicate
from byoc_lab.lab.reducing.tables import Table, table_text
from byoc_lab.relay.ir.module import IRModule

SCRIPT = '''"""{name}: a module for which it holds, and the nearest one for which it does not.

Made by byoc_lab.reduce. Ends with exit code 1 if the predicate says something else.
"""

import sys

from byoc_lab import relay
{predicate}

HOLDS = {module}
{passing}

def asked(text):
    mod = relay.transform.InferType()(relay.parse(text.strip()))
    found = predicate{said}({arguments})
    print(mod)
    print("-> the predicate " + ({holds} if found else "does not hold"), end="\\n\\n")
    return bool(found)


as_expected = {expected}
sys.exit(0 if as_expected else 1)
'''

PASSING = """
DOES_NOT_HOLD = {module}
"""

NAMED = """from byoc_lab.lab.reducing import predicate_named
{imports}
predicate = predicate_named({spec})"""

IMPORTS = """
# IMPORT HERE the module that registers {names}.
"""

WRITTEN_HERE = """

def predicate({parameters}):
    # WRITE THE PREDICATE HERE: {name} cannot be imported.
    raise NotImplementedError("write the predicate into this script")
"""

TABLE = """
# WRITE THE PATTERN TABLE HERE. These entries are left of it:
{entries}
TABLE = []
"""

BUILT_IN = ("dnnl", "ccompiler", "partition_for_dnnl")


def script_of(
    name: str, predicate: Any, module: IRModule, passing: IRModule | None, table: Table | None
) -> str:
    """The text of the script."""
    named = isinstance(predicate, NamedPredicate)
    return SCRIPT.format(
        name=name.replace("\\", "\\\\").replace('"', "'"),
        predicate=_predicate(name, predicate, table),
        said=".said" if named else "",
        holds='f"holds\\n{found}"' if named else '"holds"',
        arguments="mod" if table is None else "mod, TABLE",
        module=_text(module),
        passing="" if passing is None else PASSING.format(module=_text(passing)),
        expected="asked(HOLDS)"
        if passing is None
        else "[asked(HOLDS), asked(DOES_NOT_HOLD)] == [True, False]",
    )


def _text(mod: IRModule) -> str:
    text = mod.astext(exact=True, show_types=False).strip()
    return repr(text) if '"""' in text else f'r"""\n{text}\n"""'


def _predicate(name: str, predicate: Any, table: Table | None) -> str:
    if table is None:
        return _function(name, predicate, "mod")
    entries = "\n".join(f"# {line}" for line in table_text(table).splitlines())
    return f"{_function(name, predicate, 'mod, table')}\n{TABLE.format(entries=entries)}"


def _function(name: str, predicate: Any, parameters: str) -> str:
    if isinstance(predicate, NamedPredicate):
        others = [repr(name) for name in predicate.uses if name not in BUILT_IN]
        others = [] if predicate.imports else others
        imports = IMPORTS.format(names=" and ".join(others)) if others else ""
        return NAMED.format(spec=predicate.arguments, imports=imports)
    module, found = getattr(predicate, "__module__", ""), getattr(predicate, "__qualname__", "")
    if (
        module not in ("", "__main__")
        and getattr(sys.modules.get(module), found, None) is predicate
    ):
        return f"from {module} import {found} as predicate"
    return WRITTEN_HERE.format(name=name, parameters=parameters)
