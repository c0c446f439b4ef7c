"""The case of `tir_vars`, which `call_tir` of Relax no longer has."""

from __future__ import annotations

import sys

from byoc_lab.containment.children import run
from byoc_lab.lessons.cases.base import DumpCase, ExpectedDiagnosis, Symptom, decode_says

SECONDS = 120.0  # seconds of processor time, for the installed TVM
SCRIPT = """
import inspect, tvm
from tvm import relax
names = ", ".join(inspect.signature(relax.op.call_tir).parameters)
print(f"apache-tvm {tvm.__version__} has call_tir({names})")
"""


class RelaxTirVars(DumpCase):
    """A script passes symbolic sizes to `R.call_tir` as `tir_vars`, and today's TVM refuses it.

    A kernel for tensors of unknown size can have parameters that no tensor shape determines.
    `call_tir` took them in a separate argument, `tir_vars`. Passes that count the parameters of a
    kernel then went wrong, and today values can be arguments like tensors. `call_tir` of apache-tvm
    0.27 has no such argument: pass these values in `args`.
    """

    name = "relax-tir-vars"
    title = "R.call_tir no longer has tir_vars"
    reference = (
        "apache/tvm 20037, on tir_vars of call_tir; its text is not used here, the case shows what "
        "the installed apache-tvm does, 2026"
    )
    link = "https://github.com/apache/tvm/pull/20037"
    era = "Relax, scripts for 0.20 and earlier"
    fix = "Pass the values in args, after the tensors."
    cause = "relax-tir-vars"
    recorded = """
TypeError: call_tir() got an unexpected keyword argument 'tir_vars'
"""

    def shown(self) -> Symptom:
        return Symptom(self.recorded.strip())

    def diagnosis(self) -> ExpectedDiagnosis:
        return decode_says(self.recorded)

    def today(self) -> str:
        """Runs the installed TVM in a separate process."""
        done = run([sys.executable, "-c", SCRIPT], SECONDS)
        return done.output.strip() or f"the installed TVM does not say: {done.errors[-300:]}"
