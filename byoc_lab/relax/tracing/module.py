"""`RelaxModule`: a module of Relax as the laboratory sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.errors import ArgumentError, counted
from byoc_lab.lab.linting import Finding
from byoc_lab.relax.ir.batch import sizes_for, with_sizes
from byoc_lab.relax.ir.calls import checked_relax
from byoc_lab.relax.patterns.report import explain_patterns
from byoc_lab.relax.tracing.findings import findings_of, refusal
from byoc_lab.relax.tracing.mirror import LANGUAGE, Mirror, plain
from byoc_lab.relax.tracing.recorder import trace
from byoc_lab.relax.tracing.script import Script
from byoc_lab.relay.ir.foreign import ForeignModule
from byoc_lab.relay.ir.module import IRModule, Map
from byoc_lab.run.inputs import by_position
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm

_FIELDS = frozenset(vars(IRModule()))


class RelaxModule(ForeignModule):
    """A module of Relax; its nodes, text and findings are made when they are first asked for.

    source: the `tvm.ir.IRModule`. to_come: the names of the passes that are still to run on it.
    known: findings that come from what a trace knows of it.
    """

    language = LANGUAGE

    def __init__(self, source: Any, script: Script):
        self.source = source
        self.to_come: frozenset[str] = frozenset()
        self.known: list[Finding] = []
        self._script = script
        script.mirror.see(source)

    def __getattr__(self, name: str) -> Any:
        """A field that is made when it is first asked for: those of a module together."""
        if name == "lines":
            self.lines = self._script.lines(self.source)
        elif name == "findings":
            self.findings = [*self.known, *findings_of(self)]
        elif name in _FIELDS:
            self._mirror()
        else:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self, name)

    def _mirror(self) -> None:
        functions = {
            self._script.mirror.global_var(gv): self._script.mirrored(gv, function).function
            for gv, function in self.source.functions.items()
        }
        kept = {k: plain(v) for k, v in dict(self.source.attrs or {}).items()}
        super(ForeignModule, self).__init__(functions, attrs=kept)
        self.functions = Map(functions)

    def refused_by_dnnl(self, function: Any) -> str:
        """Why DNNL's code generator refuses a function of Relax; modules of one trace ask once."""
        known = self._script.mirror.refusals
        if function not in known:
            known[function] = refusal(function)
        return known[function]

    def trace(self, pipeline: Any, **options: Any) -> Any:
        return trace(self.source, pipeline, RelaxModule, **options)

    def explain(self, target: Any, call: Any, pipeline: Any) -> Any:
        from byoc_lab.relax.lab.explaining import explain  # which imports much

        _check_pipeline("explain", pipeline)
        found = explain(self.source, target)
        return found if call is None else found.of(call)

    def validate(self, after: Any, inputs: Any, **options: Any) -> Any:
        from byoc_lab.relax.lab.validation import validate

        return validate(self.source, after, inputs, **options)

    def bisect(self, pipeline: Any, inputs: Any, **options: Any) -> Any:
        from byoc_lab.relax.lab.bisecting import bisect

        source = checked_relax(self.source, "bisect")
        names = [name_of(param) for param in source["main"].params]
        arguments = None if inputs is None else by_position(inputs, names)
        sizes = sizes_for(source["main"], arguments)
        known = RelaxModule(with_sizes(source, sizes), Script(Mirror()))
        return bisect(known.trace(pipeline), inputs, sizes, **options)

    def fix(self) -> Any:
        from byoc_lab.relax.lab.fixing import fixed

        return fixed(self.source)

    def coverage(self, backend: Any, pipeline: Any) -> Any:
        from byoc_lab.relax.lab.covering import coverage

        _check_pipeline("coverage", pipeline)
        return coverage(self.source, backend)

    def explain_patterns(self, table: Any, others: Sequence[Any]) -> Any:
        return explain_patterns(table, [self.source, *(other.source for other in others)])

    def __repr__(self) -> str:
        return f"<RelaxModule of {counted(len(self), 'function')}>"


def _check_pipeline(who: str, pipeline: Any) -> None:
    if pipeline is not None:
        raise ArgumentError(
            f"{who} of a module of Relax runs the passes of the back end, found pipeline "
            f"{pipeline!r:.40}; give them to byoc_lab.relax.register"
        )


def read(obj: Any) -> Any:
    """A module or function of Relax for the laboratory; any other object as it is."""
    tvm = import_tvm()
    if isinstance(obj, tvm.relax.Function):
        obj = tvm.IRModule.from_expr(obj)
    if not isinstance(obj, tvm.ir.IRModule):
        return obj
    return RelaxModule(obj, Script(Mirror()))
