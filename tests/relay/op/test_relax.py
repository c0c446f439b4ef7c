"""Every operator's translation to Relax computes the results of its NumPy reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab.errors import BuildError, ByocLabError
from byoc_lab.relax.patterns.translation import relax_name
from byoc_lab.relay import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.analysis.queries import post_order
from byoc_lab.relay.frontend import from_relax
from byoc_lab.run.reference import evaluate
from tests.relay.op.grids import GRIDS, Grid
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.sample import Sample

pytestmark = pytest.mark.slow


def translated(functions: dict[str, Function]) -> Any:
    """A Relax module with these functions, which contain only dataflow blocks of operators."""
    from tvm import relax

    block = relax.BlockBuilder()
    for name, function in functions.items():
        made: dict[Expr, Any] = {}
        for p in function.params:
            ty = p.type_annotation
            made[p] = relax.Var(p.name_hint, relax.TensorType(ty.shape, ty.dtype))
        with block.function(name, [made[p] for p in function.params]):
            with block.dataflow():
                for node in post_order(function.body):
                    if isinstance(node, Call):
                        args = [made[a] for a in node.args]
                        definition = node.op.definition
                        if definition.relax is None:
                            raise BuildError(definition.why_no("relax"))
                        made[node] = block.emit(definition.relax(relax.op, node.attrs, *args))
                    elif isinstance(node, Constant):
                        made[node] = relax.const(node.numpy(), node.data.dtype)
                    elif isinstance(node, Tuple):
                        made[node] = relax.Tuple([made[f] for f in node.fields])
                    elif isinstance(node, TupleGetItem):
                        field = relax.TupleGetItem(made[node.tuple_value], node.index)
                        made[node] = block.emit(field)
                    else:
                        assert isinstance(node, (Var, Op))
                result = block.emit_output(made[function.body])
            block.emit_func_output(result)
    return block.get()


def run_relax(samples: dict[str, Sample]) -> dict[str, list[np.ndarray]]:
    """The results of all samples, compiled at once."""
    import tvm
    from tvm import relax

    functions = {name: s.function() for name, s in samples.items()}
    executable = tvm.compile(translated(functions), target="llvm")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    found = {}
    for name, sample in samples.items():
        result = machine[name](*[tvm.runtime.tensor(d) for d in sample.data()])
        whole = isinstance(result, tvm.runtime.Tensor)
        found[name] = [np.asarray(r.numpy()) for r in ([result] if whole else result)]
    return found


def assert_as_reference(sample: Sample, found: list[np.ndarray]) -> None:
    wanted = evaluate(sample.function(), sample.data()).outputs
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.label)
def test_relax_agrees_with_the_reference(sample: Sample) -> None:
    pytest.importorskip("tvm")
    if sample.relax:
        with pytest.raises(BuildError, match=sample.relax):
            translated({"main": sample.function()})
        return
    assert_as_reference(sample, run_relax({"main": sample})["main"])


@pytest.mark.parametrize("grid", GRIDS, ids=lambda g: g.label)
def test_every_accepted_combination_of_attributes_agrees_or_is_refused(grid: Grid) -> None:
    """`to_relax` raises BuildError for errors of Relax."""
    pytest.importorskip("tvm")
    accepted = grid.accepted()
    assert len(accepted) >= grid.least
    built, refused = {}, {}
    for name, sample in accepted.items():
        try:
            translated({name: sample.function()})
            built[name] = sample
        except (BuildError, ValueError) as error:
            refused[name] = str(error)
    assert all(grid.refused and grid.refused in message for message in refused.values()), refused
    for name, found in run_relax(built).items():
        assert_as_reference(built[name], found)


PARTLY = ("nn.adaptive_max_pool1d", "nn.adaptive_max_pool3d")
"""Read back as `max`, but only in their samples, because the results have one element."""


def alone_in_relax(sample: Sample) -> str:
    """The operator that a sample is translated to Relax and back to; "" if there are several."""
    try:
        mod, _ = from_relax(translated({"main": sample.function()}))
    except ByocLabError:
        return ""
    body = mod["main"].body
    calls = [n for n in post_order(body) if isinstance(n, Call)]
    return calls[0].op_name if calls == [body] else ""


def test_operator_read_back_as_another_operator_names_it_in_its_definition() -> None:
    found: dict[str, set[str]] = {}
    for sample in SAMPLES:
        if not sample.op.startswith("dyn.") and sample.op not in PARTLY:  # dyn: DynamicToStatic
            found.setdefault(sample.op, set()).add(alone_in_relax(sample))
    others = {op: names for op, names in found.items() if len(names) == 1 and not names <= {op, ""}}
    assert len(others) > 10
    for op, names in others.items():
        if not all(map(relax_name, names)):  # none of its patterns is translated
            continue
        assert names <= set(Op.get(op).definition.in_relax), op
