"""`make mutants`: every mutant of the corpus and of random modules, here and in a real TVM 0.16.

    python -m tests.lab.linting.sweep [--random N] [--seed N] [--no-oracle]

exits with status 1 if the linter misses a mutant with a fault, or has a finding in a valid module.
The oracle checks the mutants without a fault here; if it is not installed, the sweep says so and
continues.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from byoc_lab import lint, relay
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting.edits import without_annotations as bare
from byoc_lab.relay.ir.module import IRModule
from tests.lab.linting.mutants import Mutant, corpus, is_valid, mutants
from tests.lab.linting.random_annotated import random_module
from tests.lab.linting.values import inputs_of, values_of
from tests.parity.client import Oracle, skip_reason

ALONE = ["InferType", "PartitionGraph"]
MERGED = ["InferType", "MergeCompilerRegions", "PartitionGraph"]
ORACLE_SECONDS = 10.0
"""Seconds after which TVM is stopped; it then counts as not terminating on the mutant, a fault."""
MAX_TEXT = 200_000
"""Maximum number of characters of a module that is given to TVM, which takes seconds to read large
constants."""
Job = str | int
"""The name of a module of the corpus, or the seed of a random one."""


@dataclass
class Result:
    """The outcome for one valid module: counts, and reports of failures."""

    tally: Counter[str] = field(default_factory=Counter)
    reports: list[str] = field(default_factory=list)

    def wrong(self, kind: str, report: str) -> None:
        self.tally[kind] += 1
        self.reports.append(f"{kind}: {report}")

    def __iadd__(self, other: Result) -> Result:
        self.tally += other.tally
        self.reports += other.reports
        return self


def examine(job: Job, with_oracle: bool = False) -> Result:
    """Examines every mutant of one module; skips a random module that is not valid."""
    result = Result()
    mod = module_of(job)
    if not is_valid(mod):
        return result
    result.tally["modules"] += 1
    for finding in lint(mod):
        result.wrong("findings in valid modules", f"{job}\n{finding}\n{mod}")
    large = len(mod.astext()) > MAX_TEXT
    for mutant in mutants(mod):
        result.tally["mutants"] += 1
        fault = mutant.fault
        if not fault and with_oracle and large:
            result.tally["too large to ask TVM"] += 1
        elif not fault and with_oracle:
            result.tally["asked of TVM"] += 1
            fault = fault_in_oracle(mutant)
            result.tally["wrong in TVM alone"] += bool(fault)
        result.tally["with a fault"] += bool(fault)
        if fault and not mutant.found:
            found = "\n".join(map(str, mutant.findings)) or "no findings"
            result.wrong("missed", f"{job}\n{mutant}{fault}\n{found}")
    return result


def module_of(job: Job) -> IRModule:
    """The valid module of a job."""
    return corpus()[job] if isinstance(job, str) else random_module(job)


@cache
def _oracle() -> Oracle:
    found = Oracle.find()
    assert found is not None, skip_reason()
    return found


def fault_in_oracle(mutant: Mutant) -> str:
    """The fault of a mutant in TVM; empty if there is none."""
    text = mutant.mod.astext(for_tvm=True)
    inputs = inputs_of(mutant.origin)
    for steps in (ALONE, MERGED):
        last = _oracle().run(text, list(steps), timeout=ORACLE_SECONDS)[-1]
        if last.error is not None:
            if last.step < 0:
                return ""  # TVM cannot parse it, for reasons other than annotations
            return f"TVM: {last.error.kind}: {last.error.message[:100]}"
        if inputs is None:
            continue
        try:
            found = values_of(relay.parse(last.text), inputs)
        except ByocLabError as error:
            return f"TVM gives an invalid module: {error}"
        expected = values_of(bare(mutant.origin), inputs)
        if not all(np.allclose(a, b, equal_nan=True) for a, b in zip(expected, found, strict=True)):
            return "TVM: other numbers"
    return ""


def sweep(jobs: list[Job], with_oracle: bool) -> Result:
    """Runs all jobs, in one process per core."""
    total = Result()
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for part in pool.imap_unordered(_examined, [(j, with_oracle) for j in jobs]):
            total += part
            for report in part.reports:
                print(report, "\n", flush=True)
    return total


def _examined(question: tuple[Job, bool]) -> Result:
    warnings.simplefilter("ignore")
    return examine(*question)


def _jobs(count: int, seed: int) -> Iterator[Job]:
    by_size = sorted(corpus().items(), key=lambda item: -len(str(item[1])))
    yield from (name for name, _ in by_size)  # the longest first, so that all cores finish together
    yield from range(seed, seed + count)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--random", type=int, default=300, help="the number of random modules")
    parser.add_argument("--seed", type=int, default=0, help="of the first random module")
    parser.add_argument("--no-oracle", action="store_true", help="ask no real TVM")
    options = parser.parse_args(arguments)
    reason = "it was not asked for" if options.no_oracle else skip_reason()
    if reason:
        print(f"without a real TVM: {reason}")
    warnings.simplefilter("ignore")
    started = time.monotonic()
    total = sweep(list(_jobs(options.random, options.seed)), reason is None)
    counts = ", ".join(f"{count} {what}" for what, count in total.tally.items() if count)
    print(f"{counts}; 0 missed" if not total.tally["missed"] else counts, end="")
    print(f"; {time.monotonic() - started:.0f} s")
    return int(bool(total.reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
