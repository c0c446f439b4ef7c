"""Lint rule BYL031 blocked-match: something prevents the match of a pattern of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from byoc_lab.errors import ByocLabError, PredicateError
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, called
from byoc_lab.lab.linting.batch_norms import DECOMPOSED
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.matching import Experiment
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.normal_form.to_graph_normal_form import ToGraphNormalForm
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Let
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_constant, is_op, wildcard

_T = "Tensor[(2, 3), float32]"
_HEAD = f"def @main(%x: {_T}, %y: {_T}) {{\n"


def _passes() -> Sequence[Pass]:
    shifted = is_op("nn.relu")(is_op("subtract")(wildcard(), wildcard()))
    scaled = is_op("maximum")(wildcard(), is_constant())
    table = [("dnnl.subtract_relu", shifted), ("dnnl.maximum", scaled)]
    return [InferType(), MergeComposite(table), AnnotateTarget("dnnl")]


class BlockedMatch(LintRule):
    """Part of a pattern matches, and the obstacle to the rest can be removed in the module.

    It is reported before annotation, if the pipeline is known: `lint(mod, pipeline=...)`. The
    passes up to MergeComposite run on the module, and on variants of it without the obstacle.
    `byoc_lab.explain` answers for one call.

    ## Why is this bad?
    No match crosses a `let`. A value inside a match must have no user outside of it. A pattern with
    a constant does not match a parameter, and a pattern with an addition does not match a batch
    norm. In all these cases the operators stay on the host without a message.

    ## What to do instead
    Run ToGraphNormalForm, bind the parameters, or run SimplifyInference before MergeComposite.

    ## References
    TVM 0.16, src/relay/ir/dataflow_matcher.cc.
    """

    code, name = "BYL031", "blocked-match"
    severity = Severity.INFO
    VALID = (
        Sample(f"{_HEAD}  nn.relu(subtract(%x, %y))\n}}", pipeline=_passes),
        Sample(f"{_HEAD}  maximum(%x, 2f)\n}}", pipeline=_passes),
    )
    INVALID = (
        Sample(
            f"{_HEAD}  let %a = subtract(%x, %y);\n  nn.relu(%a)\n}}",
            points_at="subtract",
            pipeline=_passes,
        ),
        Sample(
            f"{_HEAD}  %0 = subtract(%x, %y);\n  %1 = nn.relu(%0);\n  (%1, %0)\n}}",
            points_at="subtract",
            pipeline=_passes,
        ),
        Sample(f"{_HEAD}  maximum(%x, %y)\n}}", points_at="maximum", pipeline=_passes),
    )

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        needed = (MergeComposite, AnnotateTarget)
        if not all(any(isinstance(p, k) for p in context.running) for k in needed):
            return
        home = {n: gv.name_hint for gv, f in mod.functions.items() for n in post_order(f)}
        if any(is_annotation(n) for n in home):
            return
        experiment = Experiment(mod, context)
        try:
            experiment.run()
        except PredicateError:
            return  # odd-answer reports it
        except ByocLabError as error:
            yield self.finding(
                f"the pipeline fails on this module, up to MergeComposite: {error}",
                "correct the code that the message names",
                None,
                severity=Severity.ERROR,
            )
            return
        for blocker in (self._let, self._unbound, self._norm, self._outside_user):
            try:
                yield from blocker(experiment, mod, home)
            except ByocLabError:
                continue  # a variant of the module that cannot be made proves nothing

    def _let(
        self, experiment: Experiment, mod: IRModule, home: Mapping[Expr, str]
    ) -> Iterator[Finding]:
        bound = {n.value: n.var for n in home if isinstance(n, Let) and isinstance(n.value, Call)}
        if not bound or experiment.runs(ToGraphNormalForm):
            return
        gained = experiment.without_lets()
        operators = experiment.operators(gained)
        values = [v for v in bound if called(v) in operators]
        if values:
            yield self._blocked(
                f"a let binds {called(values[0])} to %{bound[values[0]].name_hint}, and no match "
                f"crosses a let: without lets there would be {_counted(gained)} more",
                "run ToGraphNormalForm before MergeComposite",
                values,
                home,
            )

    def _unbound(
        self, experiment: Experiment, mod: IRModule, home: Mapping[Expr, str]
    ) -> Iterator[Finding]:
        if not experiment.wants_constants or "main" not in mod:
            return
        calls = [n for n in home if isinstance(n, Call)]
        data = {a for n in calls for a in n.args[:1]}
        params = [p for p in mod["main"].params if p not in data]
        gained = experiment.with_values(
            n for n, p in enumerate(mod["main"].params) if p not in data
        )
        operators = experiment.operators(gained)
        users = [n for n in calls if not set(params).isdisjoint(n.args)]
        users = [n for n in users if called(n) in operators] or users
        if gained and users:
            shown = ", ".join(f"%{p.name_hint}" for p in params[:4]) + ", ..." * (len(params) > 4)
            yield self._blocked(
                f"parameters have no values ({shown}), and patterns ask for constants: if all of "
                f"them were bound there would be {_counted(gained)} more",
                "bind the parameters to their values before the pipeline runs: "
                "bind_params_by_name, or params=...",
                users,
                home,
            )

    def _norm(
        self, experiment: Experiment, mod: IRModule, home: Mapping[Expr, str]
    ) -> Iterator[Finding]:
        norms: list[Expr] = [n for n in home if isinstance(n, Call) and n.op_name in DECOMPOSED]
        if not norms or experiment.runs(SimplifyInference):
            return
        gained = experiment.simplified()
        if gained:
            yield self._blocked(
                f"{called(norms[0])} is in the place of operators that patterns need, which it "
                f"can be decomposed into: if it were simplified and folded there would be "
                f"{_counted(gained)} more",
                "run SimplifyInference, FoldConstant and FoldScaleAxis before MergeComposite, "
                "under PassContext(opt_level=3)",
                norms,
                home,
            )

    def _outside_user(
        self, experiment: Experiment, mod: IRModule, home: Mapping[Expr, str]
    ) -> Iterator[Finding]:
        typed = [n for f in experiment.mod.functions.values() for n in post_order(f)]
        distinct = dict.fromkeys(typed)
        if len(distinct) != len(home):
            return  # inference made new nodes, which cannot be mapped to nodes of the module
        given = dict(zip(distinct, home, strict=True))
        for escape in experiment.escapes():
            value, user = given[escape.value], given[escape.user]
            yield self._blocked(
                f"{escape.entry} matches, except that {called(user)}, outside of the match, uses "
                f"the value of {called(value)} inside",
                "let the other user compute the value again, or write a separate pattern for it",
                [value, user],
                home,
            )

    def _blocked(
        self, message: str, what_to_do: str, nodes: Sequence[Expr], home: Mapping[Expr, str]
    ) -> Finding:
        return self.finding(
            message, what_to_do, nodes[0], others=nodes[1:], function=home[nodes[0]]
        )


def _counted(gained: Counter[str]) -> str:
    """Composite counts in words: "2 x dnnl.conv2d_relu"."""
    return ", ".join(f"{count} x {name}" for name, count in gained.most_common(3))
