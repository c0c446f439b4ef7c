"""The case of MergeCompositeFunctions and `R.call_tir`."""

from __future__ import annotations

import sys

from byoc_lab.containment.children import run
from byoc_lab.lessons.cases.base import DumpCase, ExpectedDiagnosis, Symptom, decode_says

SECONDS = 120.0  # seconds of processor time, for the installed TVM
SCRIPT = """
import tvm
from tvm import relax, topi

def var(name):
    return relax.Var(name, relax.TensorType((10,), "float32"))

block = relax.BlockBuilder()
p, x = var("p"), var("x")
attrs = {"Composite": "compiler_A.gelu", "Primitive": True}
with block.function("gelu", [p], attrs=attrs, private=True):
    with block.dataflow():
        out = block.emit_output(relax.op.nn.gelu(p))
    block.emit_func_output(out)
(gelu,) = block.get().get_global_vars()
with block.function("main", [x]):
    with block.dataflow():
        positive = block.emit_te(topi.nn.relu, x)
        out = block.emit_output(relax.Call(gelu, [positive]))
    block.emit_func_output(out)
merged = relax.transform.MergeCompositeFunctions()(block.get())
assert any("Codegen" in (f.attrs or {}) for f in merged.functions.values())
print(tvm.__version__)
"""


class RelaxCallTir(DumpCase):
    """MergeCompositeFunctions of Relax crashes on a module that calls a kernel with `R.call_tir`.

    The pass merges composite functions of one back end, as MergeCompilerRegions does in Relay. It
    looked up the group of each argument of a call, including the kernel name that `R.call_tir` has
    as its first argument. The name has no group, and the process ended with a segmentation fault,
    without a message about the cause. Lowering the rest of the module after MergeCompositeFunctions
    avoids it.
    """

    name = "relax-call-tir"
    title = "MergeCompositeFunctions crashes if the module has R.call_tir"
    reference = (
        "apache/tvm issue 17120, "
        '"[Relax][Bug] Segmentation fault when using the MergeCompositeFunctions transform", '
        "June 2024"
    )
    link = "https://github.com/apache/tvm/issues/17120"
    era = "Relax, 0.17"
    fix = "Run MergeCompositeFunctions before LegalizeOps, or use a newer TVM."
    cause = "relax-merge-call-tir"
    recorded = """
    mod = relax.transform.MergeCompositeFunctions()(mod)
Segmentation fault (core dumped)
"""

    def shown(self) -> Symptom:
        return Symptom(self.recorded.strip().splitlines()[-1])

    def diagnosis(self) -> ExpectedDiagnosis:
        return decode_says(self.recorded)

    def today(self) -> str:
        """Runs the installed TVM in a separate process."""
        done = run([sys.executable, "-c", SCRIPT], SECONDS)
        if done.code:
            return f"the installed TVM ends with {done.code}: {done.errors[-300:]}"
        return f"apache-tvm {done.output.strip()} merges it"
