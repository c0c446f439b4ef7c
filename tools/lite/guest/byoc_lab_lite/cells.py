"""Runs cells: statements, the value of a last expression, tracebacks, figures, completion."""

import ast
import builtins
import errno
import inspect
import linecache
import rlcompleter
import sys
import traceback
import types
from contextlib import contextmanager

from byoc_lab_lite.channel import Stream, send
from byoc_lab_lite.displays import begin, display

MAX_COMPLETIONS = 200
_HERE = __file__.rpartition("/")[0]
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
builtins.display = display
sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")


def run(cell, source):
    """Run a cell; the page receives its output, its error, and "done" at the end."""
    name = f"<cell {cell}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    with running(cell):
        tree = ast.parse(source, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), main.__dict__)
        if last is not None and not source.rstrip().endswith(";"):
            value = eval(compile(ast.Expression(last.value), name, "eval"), main.__dict__)
            if value is not None:
                main._ = value
                display(value)
        _show_figures()


@contextmanager
def running(cell):
    """Within this context, displayed objects appear below the cell, and so does an exception."""
    begin(cell)
    try:
        yield
    except BaseException as error:
        _show_error(error)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        send("done")


def _show_error(error):
    """Show the traceback, beginning at the cell."""
    place = error.__traceback__
    while place is not None and place.tb_frame.f_code.co_filename.startswith(_HERE):
        place = place.tb_next
    lines = traceback.format_exception(type(error), error, place)
    send("error", text="".join(lines), missing=_is_missing(error))


def _is_missing(error):
    """Whether a cell failed because a browser lacks a package or processes."""
    return isinstance(error, ImportError) or getattr(error, "errno", None) == errno.ENOTSUP


def _show_figures():
    """Show and close the open figures of pyplot, as Jupyter does."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        for number in pyplot.get_fignums():
            display(pyplot.figure(number))
        pyplot.close("all")


def complete(ticket, text):
    """Complete the name at the end of `text`, such as "byoc_lab.tr"."""
    completer = rlcompleter.Completer(main.__dict__)
    matches = completer.attr_matches(text) if "." in text else completer.global_matches(text)
    names = dict.fromkeys(match.rstrip("() :") for match in matches)
    found = [{"name": name, "about": _about(name)} for name in list(names)[:MAX_COMPLETIONS]]
    send("completed", ticket=ticket, found=found)


def _about(name):
    """The signature and the first paragraph of the documentation of a named object."""
    value = main.__dict__.get(name.partition(".")[0])
    for part in name.split(".")[1:]:
        # A module may import a name on first use; properties of other objects do not run.
        found = getattr if inspect.ismodule(value) else inspect.getattr_static
        value = found(value, part, None)
    if not callable(value):
        return ""
    try:
        signature = inspect.signature(value).format(quote_annotation_strings=False)
    except (TypeError, ValueError):  # some built-in functions have none
        signature = "(...)"
    paragraph = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return f"{signature}\n{' '.join(paragraph.split())}".rstrip()
