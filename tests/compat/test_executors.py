"""Executors and helper names in the forms that TVM's operator tests use."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.compat import relay, tvm
from byoc_lab.compat.ir.containers import ConstructorValue, RefValue, tuple_object
from byoc_lab.compat.overlay import module
from byoc_lab.errors import (
    BuildError,
    EvaluationError,
    InputError,
    InterpretedWarning,
    UnsupportedNameError,
)


def test_free_variables_get_values() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    values = {x: relay.const([1.0, 2.0]), y: np.array([3.0, 4.0], "float32")}
    found = relay.create_executor().evaluate(x * y, values).numpy()
    np.testing.assert_array_equal(found, [3, 8])


def test_vm_executor_warns_and_interprets_operators_without_relax_translation() -> None:
    x = relay.var("x", shape=(3,))
    function = relay.Function([x], relay.argwhere(x))
    with pytest.warns(InterpretedWarning, match="cannot be compiled: argwhere has no translation"):
        run = relay.create_executor("vm").evaluate(function)
    assert run(np.array([0, 1, 2], "float32")).numpy().tolist() == [[1], [2]]
    with pytest.raises(InputError, match="only supports static graphs"):
        relay.create_executor("graph").evaluate(function)


def test_vm_executor_raises_for_a_region_that_cannot_be_built() -> None:
    p, x = relay.var("p", shape=(3,)), relay.var("x", shape=(3,))
    inner = relay.Function([p], relay.erf(p))
    inner = inner.with_attr("Compiler", "dnnl").with_attr("global_symbol", "dnnl_0")
    inner = inner.with_attr("Primitive", 1)
    with pytest.raises(BuildError):
        relay.create_executor("vm").evaluate(relay.Function([x], inner(x)))


def test_scatter_and_scatter_add_are_scatter_elements() -> None:
    d, i, u = (relay.var(name, shape=(3,), dtype="int32") for name in "diu")
    data, places, new = (np.array(v, "int32") for v in ([1, 2, 3], [2, 0, 0], [5, 6, 7]))
    for op, expected in ((relay.op.scatter, [7, 2, 5]), (relay.op.scatter_add, [14, 2, 8])):
        run = relay.create_executor().evaluate(relay.Function([d, i, u], op(d, i, u, 0)))
        np.testing.assert_array_equal(run(data, places, new).numpy(), expected)


def test_segment_sum_ignores_rows_without_an_id() -> None:
    data, ids = relay.const(np.ones((4, 2), "float32")), relay.const([0, 0, 1])
    found = relay.create_executor().evaluate(relay.op.segment_sum(data, ids, 3)).numpy()
    np.testing.assert_array_equal(found, [[2, 2], [1, 1], [0, 0]])


def test_meshgrid_returns_a_tuple_of_grids() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3,))
    grids = relay.meshgrid([x, y])
    assert len(grids) == 2
    ty = relay.testing.run_infer_type(grids.astuple()).checked_type
    assert str(ty) == "(Tensor[(2, 3), float32], Tensor[(2, 3), float32])"


def test_fold_constant_leaves_a_call_that_raises() -> None:
    data, row = relay.const(np.zeros((1, 2), "float32")), relay.const([[1]])
    call = relay.op.scatter_nd(data, row, relay.const([[1.0, 2.0]]))
    mod = relay.transform.FoldConstant()(tvm.IRModule.from_expr(relay.Function([], call)))
    assert isinstance(mod["main"].body, relay.Call)
    with pytest.raises(EvaluationError, match="scatter_nd cannot be computed"):
        relay.create_executor().evaluate(call)


def test_length_errors_have_tvm_s_words() -> None:
    x = relay.var("x", shape=(4, 4))
    with pytest.raises(tvm.TVMError) as caught:
        relay.testing.run_infer_type(relay.reverse_sequence(x, relay.const([1, 2, 3]), 1, 0))
    words = "got dimension of batch_axis = 4, and seq_length size = 3"
    assert words in caught.value.args[0]


def test_while_loop_is_evaluated() -> None:
    i, x = relay.var("i", shape=(), dtype="int32"), relay.var("x", shape=(2,))
    loop = relay.loops.while_loop(
        lambda i, x: relay.less(i, relay.const(3)), [i, x], lambda i, x: [i + relay.const(1), x + x]
    )
    start = relay.Tuple([relay.const(0), relay.const([1.0, 2.0])])
    body = relay.Call(loop, list(start.fields))
    count, values = relay.create_executor().evaluate(body)
    assert count.numpy() == 3
    np.testing.assert_array_equal(values.numpy(), [8, 16])


def test_resize2d_accepts_the_arguments_of_tvm_0_8() -> None:
    x = relay.var("x", shape=(1, 4, 4, 3))
    image = module("tvm.relay").image
    old = image.resize2d(x, (8, 8), "NHWC", "nearest_neighbor", "asymmetric")
    new = relay.image.resize2d(x, (8, 8), None, "NHWC", "nearest_neighbor", "asymmetric")
    tvm.ir.assert_structural_equal(old, new, map_free_vars=True)
    region = image.resize2d(x, (8, 8), (0.0, 0.5, 1.0, 1.0), layout="NHWC")
    assert list(region.attrs.roi) == [0.0, 0.5, 1.0, 1.0]


def test_lookup_table_of_a_quantized_function_is_created() -> None:
    tables = module("tvm.relay.qnn.op.canonicalizations")
    data = np.arange(-128, 128).astype("int8").reshape(2, 128)
    parameters = (relay.const(1 / 64), relay.const(0), relay.const(1 / 128), relay.const(0))
    made = tables.create_integer_lookup_op(
        relay.const(data), np.tanh, *parameters, in_dtype="int8", out_dtype="int8"
    )
    wanted = np.tanh(data / 64) * 128
    found = tables.run_const_expr(made)
    assert found.dtype == "int8"
    np.testing.assert_allclose(found, wanted, atol=0.51)
    with pytest.raises(InputError, match="maps integers to integers, found float32 to int8"):
        tables.create_integer_lookup_table(np.tanh, *parameters, -1, -1, "float32", "int8")


def test_data_and_references_may_be_arguments() -> None:
    mod = tvm.IRModule()
    prelude = relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    array = tvm.nd.array(np.ones((2, 3), "float32"))
    empty = ConstructorValue(nil.tag, [], nil)
    identity = relay.create_executor(mod=mod).evaluate(prelude.id)
    data = identity(ConstructorValue(cons.tag, [array, empty], cons))
    assert data.tag == cons.tag and data.fields[1].tag == nil.tag
    np.testing.assert_array_equal(data.fields[0].numpy(), array.numpy())
    reference = identity(RefValue(array))
    assert isinstance(reference, RefValue)
    np.testing.assert_array_equal(reference.value.numpy(), array.numpy())
    pair = identity(tuple_object([array, tuple_object([array, empty])]))
    assert len(pair) == 2 and pair[1][0].shape == (2, 3) and pair[1][1].tag == nil.tag
    assert identity(np.zeros((2,), "int8")).dtype == "int8"
    length = relay.create_executor(mod=mod).evaluate(mod["length"])
    assert int(length(ConstructorValue(cons.tag, [array, empty], cons)).numpy()) == 1


def test_references_may_be_results() -> None:
    ref, old = relay.var("ref"), relay.var("old")
    write = relay.Let(relay.var("_"), relay.RefWrite(ref, relay.const(2)), relay.Tuple([ref, old]))
    body = relay.Let(ref, relay.RefCreate(relay.const(1)),
                     relay.Let(old, relay.RefRead(ref), write))  # fmt: skip
    reference, before = relay.create_executor().evaluate(body)
    assert int(reference.value.numpy()) == 2 and int(before.numpy()) == 1


def test_functions_may_be_results() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    pair = relay.Function([y], relay.Tuple([relay.Function([x], x - y), y]))
    mod = tvm.IRModule()
    mod["swap"] = relay.Function([x, y], relay.Tuple([y, x]))
    ones, twos = np.ones(2, "float32"), np.full(2, 2, "float32")
    subtract, given = relay.create_executor().evaluate(pair)(twos)
    np.testing.assert_array_equal(given.numpy(), twos)
    np.testing.assert_array_equal(subtract(tvm.nd.array(ones)).numpy(), ones - twos)
    swap = relay.testing.run_as_python(relay.Tuple([mod.get_global_var("swap")]), mod)[0]
    np.testing.assert_array_equal(swap(ones, twos)[0].numpy(), twos)
    for wrong in ((), (ones, ones), (np.ones(3, "float32"),)):
        with pytest.raises(InputError):
            subtract(*wrong)


def test_run_as_python_evaluates_and_to_python_is_refused() -> None:
    expr = relay.Tuple([relay.const(1) + relay.const(2), relay.Tuple([])])
    number, unit = relay.testing.run_as_python(expr)
    assert int(number.numpy()) == 3 and len(unit) == 0
    with pytest.raises(UnsupportedNameError, match="run_as_python"):
        relay.testing.to_python(expr)


def test_library_is_a_tvm_module() -> None:
    x = relay.var("x", shape=(2,))
    library = relay.build(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm")
    assert isinstance(library.lib, tvm.runtime.Module)
    assert not isinstance(library.get_graph_json(), tvm.runtime.Module)
