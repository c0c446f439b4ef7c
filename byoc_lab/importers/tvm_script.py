"""The importer of TVMScript: a file with the class of a Relax module, as printed by `mod.script()`.

The result is a Relax module in the laboratory's representation (`relay.ir.foreign`), not a Relay
module: `trace`, `diff`, `lint` and `explain` accept it, and `byoc_lab.relax.build` builds it.
"""

from __future__ import annotations

import ast
from pathlib import Path

from byoc_lab.errors import ImporterError
from byoc_lab.importers.registry import Params, register
from byoc_lab.relay.ir.foreign import adopted
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.tvm_runtime import import_tvm

DECORATOR = "ir_module"
_SOURCE = "<str>"  # the file name that TVM's parser gives to text
_WITHOUT_METADATA = "Undefined variable: metadata"


def load_tvm_script(path: Path) -> tuple[IRModule, Params]:
    """The module of the first class with the decorator `I.ir_module` in a Python file.

    TVM's parser evaluates expressions of the class as Python, so the class is code; the rest of the
    file does not run. Raises ImporterError if the file has no such class, or TVM cannot parse it.
    """
    text = path.read_text(encoding="utf-8")
    try:
        source = _class(text, str(path))
    except (SyntaxError, ValueError) as error:
        raise ImporterError(f"{path} is not a file of Python: {error}") from error
    if source is None:
        raise ImporterError(
            f"{path} has no class with the decorator @I.ir_module; TVMScript of a module is what "
            f"mod.script() of a tvm.ir.IRModule gives"
        )
    try:
        mod = import_tvm().script.from_source(source)
    except Exception as error:  # TVM's parser raises errors of many kinds
        text = str(error).replace(f"--> {_SOURCE}:", f"--> {path}:")
        if _WITHOUT_METADATA in text:
            text += (
                "\nThe text refers to a constant array whose elements it does not contain. "
                "Make the weights parameters of main, or save a trace: "
                "byoc_lab.trace(mod, pipeline).save(file)"
            )
        raise ImporterError(f"{path}: TVM cannot read the TVMScript: {text}") from error
    return adopted(mod), {}


def _class(text: str, file: str) -> str | None:
    """The text of the class, on its lines. Raises SyntaxError, which names the file."""
    for node in ast.parse(text, file).body:
        decorators = getattr(node, "decorator_list", ())
        if isinstance(node, ast.ClassDef) and any(_name(d) == DECORATOR for d in decorators):
            first = min(d.lineno for d in decorators)
            lines = text.split("\n")[first - 1 : node.end_lineno]
            return "\n" * (first - 1) + "\n".join(lines) + "\n"
    return None


def _name(decorator: ast.expr) -> str:
    """The last part of a decorator's name."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


register(".py", load_tvm_script, "TVMScript")
