"""Lint rule BYL005 unnamed-compiler: an annotation names no compiler."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.relay.analysis.annotations import BEGIN, END, is_annotation
from byoc_lab.relay.ir.expr import Call

_HEAD = "def @main(%x: Tensor[(10, 10), float32]) {\n"


class UnnamedCompiler(LintRule):
    """A `compiler_begin` or `compiler_end` has no attributes, so it names no compiler.

    ## Why is this bad?
    Such a begin is not an annotation but an ordinary operator without an implementation. At such an
    end TVM's PartitionGraph crashes, because it reads attributes that do not exist.

    ## What to do instead
    Name the compiler: `compiler_begin(x, "dnnl")`. In Relay text: `compiler="dnnl"`.

    ## References
    TVM 0.16, src/relay/transforms/partition_graph.cc.
    """

    code, name = "BYL005", "unnamed-compiler"
    VALID = (
        Sample(
            f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = nn.relu(%0);\n'
            '  annotation.compiler_end(%1, compiler="A")\n}'
        ),
    )
    INVALID = (
        Sample(
            f"{_HEAD}  %0 = annotation.compiler_begin(%x);\n  %1 = nn.relu(%0);\n"
            "  annotation.compiler_end(%1)\n}",
            points_at="annotation.compiler_begin",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for node in subject.nodes:
            named_so = isinstance(node, Call) and (node.is_op(BEGIN) or node.is_op(END))
            if named_so and not is_annotation(node):
                yield self.finding(
                    f"{called(node)} names no compiler",
                    'add compiler="..." to it, or remove it',
                    node,
                    subject,
                )
