"""Lint rule BYL009 name-taken: the name of a region's function is taken."""

from __future__ import annotations

import re
from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject

_T = "Tensor[(10, 10), float32]"
_MAIN = (
    f'def @main(%x: {_T}) {{\n  %0 = annotation.compiler_begin(%x, compiler="A");\n'
    '  %1 = nn.relu(%0);\n  annotation.compiler_end(%1, compiler="A")\n}\n'
)


class NameTaken(LintRule):
    """The module already has a function with the name that PartitionGraph will give to a region's
    function.

    ## Why is this bad?
    PartitionGraph names functions `tvmgen_<mod_name>_<compiler>_<function>_<region>` and stops when
    the module already has a function of that name.

    ## What to do instead
    Rename the function, or give PartitionGraph another `mod_name`. Partitioning a module a second
    time also needs another `mod_name`.

    ## References
    TVM 0.16, src/relay/transforms/partition_graph.cc.
    """

    code, name = "BYL009", "name-taken"
    VALID = (Sample(_MAIN),)
    INVALID = (Sample(f"{_MAIN}\ndef @tvmgen_default_A_main_0(%x: {_T}) {{\n  nn.relu(%x)\n}}"),)

    def check(self, subject: Subject) -> Iterator[Finding]:
        for region in subject.offloaded:
            number = subject.function_number(region)
            plain = f"tvmgen_default_{region.target}_{subject.name}_{number}"
            name = re.sub(r"[^0-9a-zA-Z]", "_", plain)
            if region.outputs and name in subject.mod:
                yield self.finding(
                    f"region {subject.number(region)} will become @{name}, a name that another "
                    f"function of the module already has",
                    f'rename @{name}, or use PartitionGraph(mod_name="...")',
                    region.inputs[0] if region.inputs else region.outputs[0],
                    subject,
                )
