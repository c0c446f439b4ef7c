"""The Relay-like nodes that represent functions of Relax."""

from __future__ import annotations

from typing import Any

import byoc_lab
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.relax.tracing import RelaxModule, read
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call, Function, If, Let, Tuple
from byoc_lab.relay.ir.foreign import ForeignOp
from byoc_lab.relay.ir.visit import post_order

from .networks import BRANCHES, SMALL, dnnl_passes, resnet, tensor, transform, tvm


def calls(function: Function) -> list[Call]:
    return [n for n in post_order(function) if isinstance(n, Call)]


def test_calls_have_their_operators_attributes_and_types() -> None:
    mod = read(SMALL)
    assert isinstance(mod, RelaxModule)
    conv, add, relu, erf = calls(mod["main"])
    assert [c.op_name for c in (conv, add, relu, erf)] == ["nn.conv2d", "add", "nn.relu", "erf"]
    assert isinstance(conv.op, ForeignOp) and conv.op.full_name == "relax.nn.conv2d"
    assert tuple(conv.attrs.padding) == (1, 1, 1, 1) and conv.attrs.data_layout == "NCHW"
    assert str(conv.checked_type) == "Tensor[(1, 4, 8, 8), float32]"
    assert conv.args == mod["main"].params[:2] and erf.args == (relu,)


def test_branches_casts_shapes_and_unused_values_have_nodes() -> None:
    main = read(BRANCHES)["main"]
    nodes = list(post_order(main))
    (branch,) = [n for n in nodes if isinstance(n, If)]
    assert branch.true_branch.op_name == "add" and branch.false_branch.op_name == "multiply"
    named = {c.op_name: c for c in calls(main)}
    assert named["reshape"].attrs.shape == "R.shape([3, 4])"
    assert "R.Tensor((4, 3)" in named["match_cast"].attrs.type
    (unused,) = [n for n in nodes if isinstance(n, Let)]
    assert unused.value.op_name == "print"
    (joined,) = named["concat"].args
    assert isinstance(joined, Tuple) and named["split"].attrs.axis == 1


def test_external_functions_and_composites_are_recognized() -> None:
    mod = byoc_lab.trace(resnet(1), "dnnl").final
    compilers = {gv.name_hint: f.attrs.get("Compiler") for gv, f in mod.functions.items()}
    assert sorted(map(str, compilers.values())) == ["None", "dnnl", "dnnl"]
    picture = picture_of(mod)
    kinds = [f.kind for f in picture.frames]
    assert kinds.count("external") == 2 and kinds.count("composite") == 11
    assert picture.stats() == {"offloaded": 11, "host": 1, "regions": 2}
    assert [b.title for b in picture.boxes if b.kind == "input"] == ["%x"]  # without weights


def test_equal_regions_are_drawn_at_each_call() -> None:
    recorded = byoc_lab.trace(resnet(3), dnnl_passes())
    fused = recorded["FuseOpsByPattern"].after
    assert len(fused) < 22 and picture_of(fused).stats()["host"] == 22


def test_tir_function_is_one_box_at_its_call() -> None:
    mod = byoc_lab.trace(SMALL, "LegalizeOps").final
    titles = [b.title for b in picture_of(mod).boxes if b.kind == "op"]
    assert titles == ["@conv2d", "@add", "@relu", "@erf"]
    assert not any(f.kind == "function" for f in picture_of(mod).frames)


def test_change_inside_tir_is_reported_as_a_change() -> None:
    @tvm.transform.module_pass(opt_level=0, name="Mark")
    def mark(mod: Any, ctx: Any) -> Any:
        gv = mod.get_global_var("relu")
        return tvm.IRModule({**dict(mod.functions), gv: mod[gv].with_attr("marked", 1)})

    recorded = byoc_lab.trace(SMALL, ["LegalizeOps", mark])
    assert recorded["Mark"].changed
    rows = [r for r in recorded["Mark"].diff().rows() if r.kind != "same"]
    assert any(r.after and "marked" in r.after.text for r in rows)
    assert {r.after.function for r in rows if r.after} == {"relu"}


def test_compiled_region_is_drawn_as_one_box() -> None:
    recorded = byoc_lab.trace(SMALL, [*dnnl_passes(), transform.RunCodegen()])
    picture = picture_of(recorded.final)
    (frame,) = [f for f in picture.frames if f.kind == "external"]
    assert frame.compiler == "dnnl" and frame.label.startswith("@fused_relax_nn_conv2d")
    (box,) = [b for b in picture.boxes if b.frame is frame]
    assert box.title == "call_dps_packed" and box.operators == 3
    assert box.detail == "3 operators, 1×4×8×8"  # noqa: RUF001


def test_unknown_sizes_are_shown_and_compared() -> None:
    relax = tvm.relax
    kind, n = relax.TensorType, tvm.tirx.Var("n", "int64")
    x, y = relax.Var("x", kind((n, 3), "float32")), relax.Var("y", kind(None, "float32", ndim=2))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    mod = read(builder.get())
    shown = [str(p.type_annotation) for p in mod["main"].params]
    assert shown == ["Tensor[(n, 3), float32]", "Tensor[(?, ?), float32]"]
    assert structural_equal(mod, read(builder.get()))


def test_variable_names_are_ignored_in_differences() -> None:
    def built(name: str) -> Any:
        relax = tvm.relax
        x = relax.Var(name, tensor((1, 8)))
        builder = relax.BlockBuilder()
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(relax.op.nn.relu(x), f"{name}_out"))
        return builder.get()

    assert not byoc_lab.diff(built("a"), built("b"))
