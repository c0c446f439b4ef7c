"""The host part without apache-tvm: the NumPy reference runs it, and calls compiled regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.errors import MissingDependencyError
from byoc_lab.relay.ir.expr import Call, GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.backends import CompiledRegion
from byoc_lab.run.hosts.host import Direct, Instrument, LinkedRegion, Lock
from byoc_lab.run.inline import Flat
from byoc_lab.run.interpreter import ScopeFrame
from byoc_lab.run.reference import Reference, Result
from byoc_lab.run.tvm_runtime import REQUIREMENT
from byoc_lab.run.values import value_of


class NumpyHost:
    """Runs a flat program with the reference, operator by operator. See `Host`."""

    deep: bool = False
    direct: Direct | None = None

    def __init__(self, flat: Flat, regions: Sequence[LinkedRegion], stand_in: str):
        self.stand_in: str | None = stand_in
        self._main = flat.main
        self._mod = IRModule(flat.functions)
        self._regions = {r.symbol: r.compiled for r in regions if r.compiled is not None}
        self._instrument: Instrument | None = None

    def prepare(self, values: Sequence[Any]) -> list[Any]:
        return list(values)

    def execute(self, prepared: list[Any]) -> Any:
        program = _Program(self._mod, self._regions, self._instrument)
        return program.run(self._main, dict(zip(self._main.params, prepared, strict=True)))

    def arrays(self, result: Any) -> list[np.ndarray]:
        return [np.array(each) for each in Result(result).outputs]

    def set_instrument(self, instrument: Instrument | None) -> None:
        self._instrument = instrument

    def export(self, path: Path, regions: Sequence[LinkedRegion], lock: Lock) -> None:
        raise MissingDependencyError(
            f"writing {path} needs apache-tvm, which compiles the host part of a library; install "
            f"it with: pip install '{REQUIREMENT}'"
        )


class _Program(Reference):
    """The reference, with regions that their back ends compute."""

    def __init__(
        self, mod: IRModule, regions: Mapping[str, CompiledRegion], instrument: Instrument | None
    ):
        super().__init__(mod)
        self._regions, self._instrument = regions, instrument

    def global_variable(self, node: GlobalVar, frame: ScopeFrame) -> Any:
        return super().global_variable(node, frame) if node in self.mod else node

    def other_call(self, node: Call, callee: Any, args: list[Any], frame: ScopeFrame) -> Any:
        if not isinstance(callee, GlobalVar):
            return super().other_call(node, callee, args, frame)
        symbol = callee.name_hint
        region = self._regions[symbol]
        if self._instrument is not None:
            self._instrument(region, symbol, True, None, *args)
        outputs = region(*args)
        if self._instrument is not None:
            self._instrument(region, symbol, False, None, *args, *outputs)
        return value_of(node.checked_type, iter(outputs))

    RULES = {**Reference.RULES, GlobalVar: global_variable}
