"""Searches for false alarms: random modules with special values, on DNNL and on LLVM.

    python -m tests.lab.checking.sweep [--seeds 0 2000] [--on dnnl llvm]

prints each module that is reported as wrong, and the smallest such module derived from it. With
ONEDNN_MAX_CPU_ISA=SSE41, AVX or AVX2 in the environment, oneDNN runs the code for lesser
processors.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

import byoc_lab
from byoc_lab.errors import ByocLabError, InputError
from byoc_lab.lab.checking.report import Report
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run import build
from tests.lab.checking.random_nets import random_net

WHERE = ("dnnl", "llvm")


def checked(seed: int, where: str) -> Report:
    """The report on one module.

    where: "dnnl", with every kernel checked, or "llvm".
    """
    mod, inputs = random_net(seed)
    return report_of(mod, inputs, seed, where)


def report_of(mod: IRModule, inputs: Any, seed: int, where: str) -> Report:
    """The report on a module.

    inputs: None for numbers drawn from the seed.
    """
    if where == "llvm":
        return byoc_lab.validate(mod, build(mod), inputs, seed=seed)
    result = byoc_lab.trace(mod, "dnnl").result
    return byoc_lab.validate(mod, build(result), inputs, detail="operator", seed=seed)


def false_alarms(seeds: Iterable[int], where: str) -> Iterator[tuple[int, str]]:
    """The seeds of modules that are reported as wrong or cannot be checked, each with the
    message."""
    for seed in seeds:
        try:
            report = checked(seed, where)
        except ByocLabError as error:
            yield seed, f"{type(error).__name__}: {error}"
            continue
        if not report.ok:
            yield seed, str(report)


def smallest(seed: int, where: str) -> str:
    """The smallest module that is reported as wrong, with numbers from the same seed."""
    mod, _ = random_net(seed)

    def is_wrong(smaller: IRModule) -> bool:
        return not report_of(smaller, None, seed, where).ok

    try:
        return str(byoc_lab.reduce(mod, is_wrong, budget=200))
    except InputError:  # the module is wrong only with its own example inputs
        return "not reduced: other numbers of this seed do not show it"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 2000), metavar=("FIRST", "END"))
    parser.add_argument("--on", nargs="+", choices=WHERE, default=WHERE)
    options = parser.parse_args()
    count = 0
    for where in options.on:
        for seed, said in false_alarms(range(*options.seeds), where):
            print(f"seed {seed} on {where}: {said}", flush=True)
            print(smallest(seed, where), flush=True)
            count += 1
    first, end = options.seeds
    print(f"{end - first} modules on {' and '.join(options.on)}: {count} false alarms")
    return 1 if count else 0


if __name__ == "__main__":
    raise SystemExit(main())
