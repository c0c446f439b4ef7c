"""The command line `byoc-lab`, for terminals and CI.

The commands are in `commands/`; EXIT_CODES describes the exit codes.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from byoc_lab import __version__, plugins
from byoc_lab.commands import INCONCLUSIVE, NO, OK, USAGE, all_commands
from byoc_lab.commands.shared import given_options
from byoc_lab.errors import ByocLabError, UnknownInputsError
from byoc_lab.terminal import Visible, visible_output

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["BROKEN_PIPE", "INCONCLUSIVE", "INTERRUPTED", "NO", "OK", "USAGE", "main", "parser"]

INTERRUPTED, BROKEN_PIPE = 130, 141
WAYS_IN = """A laboratory for BYOC graph partitioning on TVM Relay.

Ways in: a network of your own from ONNX (.onnx) or PyTorch (.pt2, of torch.export), Relay text
(.relay), a module of today's Relax as TVMScript (.py), or a recording of a real TVM's passes:

  byoc-lab trace net.onnx --html net.html    step through the pipeline of a back end
  byoc-lab trace net.onnx --shape batch=1    set unknown dimension sizes of the model
  byoc-lab explain net.onnx                  why each call is or is not offloaded
  byoc-lab lint net.relay                    what is wrong with its annotations
  byoc-lab validate net.onnx                 are the numbers right
  byoc-lab trace net.py --pipeline zero      the passes of today's TVM on a module of Relax
  byoc-lab recorder > tvm_recorder.py        record a TVM of 0.7 to 0.19; then
  byoc-lab trace passes.jsonl                show what it recorded

To learn it, begin with the course:

  byoc-lab notebooks                         copy its notebooks and exercises, and open them
"""


EXIT_CODES = """exit codes:
  0    success: nothing is wrong, or the answer is yes
  1    a negative result: findings, calls on the host, wrong numbers, a failed pass, a difference,
       a coverage below --min-coverage
  2    wrong usage: an unknown name or option, a file that cannot be read or written, code of
       --import that raises an error
  3    inconclusive: nothing that answers the question could be run
  130  interrupted
  141  the reader of the output has ended

docs/command-line.md describes them for each command, and the JSON of --format json.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default that of the command line; returns its exit code."""
    if arguments is None:  # the process ends with it: collecting its modules then is lost time
        atexit.register(gc.freeze)
    try:
        with visible_output():
            options = parser().parse_args(arguments)
            for name in options.imports:
                plugins.import_code(name)
            return options.run(options)
    except UnknownInputsError as error:
        more = given_options(error.shape, error.freeze)
        again = shlex.join([*(sys.argv[1:] if arguments is None else arguments), *more])
        return _stopped(f"{error}\nFor example: byoc-lab {again}" if more else str(error), USAGE)
    except ByocLabError as error:
        return _stopped(str(error), USAGE)
    except KeyboardInterrupt:
        return _stopped("interrupted", INTERRUPTED)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (what is left is written at the exit)
        return BROKEN_PIPE
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _stopped(f"{error.strerror or error}{where}", USAGE)


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """As argparse, which ignores errors of a full disk."""
        (file or sys.stdout).write(self.format_help())


def _stopped(message: str, code: int) -> int:
    print(f"byoc-lab: {message}", file=Visible(sys.stderr))
    return code


def parser() -> argparse.ArgumentParser:
    """The parser of the command line; `run` is the function of the chosen command."""
    root = _Parser(
        prog="byoc-lab",
        description=WAYS_IN,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.set_defaults(imports=[])
    root.add_argument("--version", action="version", version=f"byoc-lab {__version__}")
    commands = root.add_subparsers(required=True, metavar="command")
    for name, command in all_commands():
        sub = commands.add_parser(
            name,
            help=(command.__doc__ or "").strip(),
            epilog=EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(sub)
        sub.set_defaults(run=command.run)
    return root


if __name__ == "__main__":
    sys.exit(main())
