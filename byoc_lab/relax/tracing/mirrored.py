"""`MirroredModule`: a module of Relax, with its functions as nodes and its text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from byoc_lab.errors import counted
from byoc_lab.lab.linting import Finding
from byoc_lab.relax.tracing.mirror import LANGUAGE, plain
from byoc_lab.relax.tracing.script import Script
from byoc_lab.relay.ir.foreign import ForeignModule
from byoc_lab.relay.ir.module import IRModule, Map

_FIELDS = frozenset(vars(IRModule()))


class MirroredModule(ForeignModule):
    """A Relax module; its nodes and its text are created on first access.

    source: the `tvm.ir.IRModule`. shared: the nodes and names that the modules of a trace share.
    to_come: the names of the passes that will still run on it. known: findings of the trace on this
    module.
    """

    language = LANGUAGE

    def __init__(self, source: Any, shared: Script):
        self.source = source
        self.shared = shared
        self.to_come: frozenset[str] = frozenset()
        self.known: list[Finding] = []
        shared.mirror.see(source)

    def __getattr__(self, name: str) -> Any:
        """A field of the module: all fields are created at the first access to one of them."""
        if name not in _FIELDS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        functions = {
            self.shared.mirror.global_var(gv): self.shared.mirrored(gv, function).function
            for gv, function in self.source.functions.items()
        }
        kept = {k: plain(v) for k, v in dict(self.source.attrs or {}).items()}
        super(ForeignModule, self).__init__(functions, attrs=kept)
        self.functions = Map(functions)
        return getattr(self, name)

    @cached_property
    def lines(self) -> Sequence[Any]:
        return self.shared.lines(self.source)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {counted(len(self), 'function')}>"
