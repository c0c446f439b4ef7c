"""`validate`: compares regions and outputs with a float64 reference."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, ValidationError
from byoc_lab.lab.checking.rounding import Array, flat
from byoc_lab.lab.checking.tolerances import bounded, node_values
from byoc_lab.relay.ir.expr import Call, Function, GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.build import build
from byoc_lab.run.executable import Executable, LinkedRegion
from byoc_lab.run.inline import inlined
from byoc_lab.run.inputs import bind_inputs, checked_module


@dataclass(frozen=True)
class Comparison:
    """One array against its reference.

    error: the largest absolute difference, at index `place`. tolerance: the largest error allowed.
    scale: the largest absolute value of the reference.
    """

    name: str
    error: float
    tolerance: float
    scale: float
    place: tuple[int, ...]

    @property
    def ok(self) -> bool:
        return self.error <= self.tolerance  # False if the error is nan

    @property
    def share(self) -> float:
        """The error divided by the tolerance."""
        return 0.0 if not self.error else self.error / self.tolerance if self.tolerance else inf

    def __str__(self) -> str:
        verdict = "ok" if self.ok else f"WRONG at {list(self.place)}"
        return (
            f"{self.name}: error {self.error:.2g}, tolerance {self.tolerance:.2g}, "
            f"largest value {self.scale:.3g}: {verdict}"
        )


@dataclass(frozen=True)
class Report:
    """The report of `validate`.

    regions: each region on the reference's values of its inputs, so without inherited errors.
    outputs: those of @main.
    """

    regions: tuple[Comparison, ...]
    outputs: tuple[Comparison, ...]

    @property
    def ok(self) -> bool:
        return all(c.ok for c in (*self.regions, *self.outputs))

    def check(self) -> Report:
        """Returns this report; raises ValidationError if a comparison failed."""
        if not self.ok:
            raise ValidationError(str(self))
        return self

    def __str__(self) -> str:
        head = "valid" if self.ok else "NOT VALID"
        return "\n".join([head, *(f"  {c}" for c in (*self.regions, *self.outputs))])

    def _repr_html_(self) -> str:
        cells = ("", "largest error", "tolerance", "largest value", "verdict")
        rows = [
            (c.name, f"{c.error:.2e}", f"{c.tolerance:.2e}", f"{c.scale:.3g}",
             "&#10003; ok" if c.ok else f"&#10007; wrong at {list(c.place)}")
            for c in (*self.regions, *self.outputs)
        ]  # fmt: skip
        head = "".join(f"<th>{c}</th>" for c in cells)
        body = "".join(
            f"<tr><td>{html.escape(name)}</td>{''.join(f'<td>{c}</td>' for c in rest)}</tr>"
            for name, *rest in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def validate(
    before: IRModule,
    after: IRModule | Executable,
    inputs: Mapping[str, Any] | Sequence[Any],
    *,
    samples: int | None = None,
    seed: int = 0,
) -> Report:
    """Run `after` and compare its outputs and regions with the reference, on `inputs`.

    before: the module before any pass; it is computed with NumPy in float64.
    after: the result of the pipeline, as a module (which is built) or an executable. It has the
        same parameters as `before`.
    samples, seed: of the random errors that the tolerances are derived from (see `bounded`).

    Every region that a back end compiled runs once more by itself, on the reference's values of
    its inputs. Raises InputError, EvaluationError, and the errors of `build`.
    """
    if isinstance(before, Executable):
        raise ArgumentError(
            "validate takes the module before the pipeline first, found an Executable; "
            "write validate(module, executable, inputs)"
        )
    before = infer_module(checked_module(before, "validate"))
    if not isinstance(after, Executable):
        checked_module(after, "validate, as the result of the pipeline,")
    exe = after if isinstance(after, Executable) else build(after)
    wanted = bounded(
        inlined(before["main"], before),
        bind_inputs(before["main"], inputs),
        samples=samples,
        seed=seed,
    )
    got = exe.run(inputs)
    if len(got) != len(wanted.outputs):
        raise ValidationError(
            f"the module has {len(wanted.outputs)} outputs before the pipeline, and {len(got)} "
            f"after it; both must compute the same outputs"
        )
    outputs = [
        compare(f"output {n}" if len(got) > 1 else "output", *group)
        for n, group in enumerate(zip(got, wanted.outputs, wanted.tolerances, strict=True))
    ]
    return Report(tuple(_regions(exe, inputs, samples, seed)), tuple(outputs))


def compare(name: str, got: Array, wanted: Array, tolerance: float) -> Comparison:
    """Compare two arrays. Raises ValidationError if their shapes differ."""
    if got.shape != wanted.shape:
        raise ValidationError(f"{name}: expected shape {wanted.shape}, found {got.shape}")
    if not got.size:
        return Comparison(name, 0.0, tolerance, 0.0, ())
    with np.errstate(invalid="ignore"):
        difference = np.abs(got.astype(np.float64) - wanted)
    # Equal infinities agree, and nan agrees with nan.
    difference[(got == wanted) | (np.isnan(got) & np.isnan(wanted))] = 0
    worst = int(np.argmax(np.where(np.isnan(difference), np.inf, difference)))
    place = tuple(int(i) for i in np.unravel_index(worst, difference.shape))
    scale = float(np.max(np.abs(wanted), initial=0))
    return Comparison(name, float(difference[place]), tolerance, scale, place)


def _regions(
    exe: Executable, inputs: Mapping[str, Any] | Sequence[Any], samples: int | None, seed: int
) -> list[Comparison]:
    """Compare each compiled region, on the reference's values of its inputs."""
    linked = {r.symbol: r for r in exe.linked if r.compiled is not None}
    functions = {r.function for r in linked.values()}
    main = inlined(exe.mod["main"], exe.mod, keep=lambda function: function in functions)
    callees = {
        exe.mod.get_global_var(name): inlined(r.function, exe.mod) for name, r in linked.items()
    }
    if not callees:
        return []
    bound = bind_inputs(exe.mod["main"], inputs)
    values = node_values(main, bound, callees)
    found = []
    for node in post_order(main.body):
        if isinstance(node, Call) and isinstance(node.op, GlobalVar):
            arguments = [_narrowed(values[a]) for a in node.args]
            region = linked[node.op.name_hint]
            compared = _compare_region(region, callees[node.op], arguments, samples, seed)
            worst = max(compared, key=lambda c: c.share)
            exe.note_error(region.symbol, worst.error, worst.tolerance)
            found += compared
    return found


def _compare_region(
    region: LinkedRegion, function: Function, arguments: list[Any], samples: int | None, seed: int
) -> list[Comparison]:
    assert region.compiled is not None
    wanted = bounded(
        function,
        dict(zip(function.params, arguments, strict=True)),
        exact_constants=True,
        samples=samples,
        seed=seed,
    )
    got = region.compiled(*flat(tuple(arguments)))
    single = len(got) == 1
    return [
        compare(f"@{region.symbol}" if single else f"@{region.symbol} output {n}", *group)
        for n, group in enumerate(zip(got, wanted.outputs, wanted.tolerances, strict=True))
    ]


def _narrowed(value: Any) -> Any:
    """float64 values of the reference as float32, the dtype that regions expect."""
    if isinstance(value, tuple):
        return tuple(map(_narrowed, value))
    return value.astype(np.float32) if value.dtype == np.float64 else value
