"""Every operator's translation to Relax computes what its NumPy reference computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab.errors import BuildError
from byoc_lab.relay import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.analysis import post_order
from byoc_lab.run.reference import evaluate
from tests.relay.op.sample import Sample
from tests.relay.op.samples import SAMPLES

pytestmark = pytest.mark.slow


def translated(function: Function) -> Any:
    """A Relax module whose @main is `function`: dataflow of operators only."""
    from tvm import relax

    block = relax.BlockBuilder()
    made: dict[Expr, Any] = {}
    # apache-tvm 0.27 has TensorType where 0.25 and 0.26 have TensorStructInfo.
    tensor_type = getattr(relax, "TensorType", None) or relax.TensorStructInfo
    for p in function.params:
        ty = p.type_annotation
        made[p] = relax.Var(p.name_hint, tensor_type(ty.shape, ty.dtype))
    with block.function("main", [made[p] for p in function.params]):
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
                    made[node] = block.emit(relax.TupleGetItem(made[node.tuple_value], node.index))
                else:
                    assert isinstance(node, (Var, Op))
            result = block.emit_output(made[function.body])
        block.emit_func_output(result)
    return block.get()


def run_relax(function: Function, data: list[np.ndarray]) -> list[np.ndarray]:
    import tvm
    from tvm import relax

    executable = tvm.compile(translated(function), target="llvm")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result = machine["main"](*[tvm.runtime.tensor(d) for d in data])
    whole = isinstance(result, tvm.runtime.Tensor)
    return [np.asarray(r.numpy()) for r in ([result] if whole else result)]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.label)
def test_relax_agrees_with_the_reference(sample: Sample) -> None:
    pytest.importorskip("tvm")
    if sample.relax:
        with pytest.raises(BuildError, match=sample.relax):
            translated(sample.function())
        return
    wanted = evaluate(sample.function(), sample.data()).outputs
    found = run_relax(sample.function(), sample.data())
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
