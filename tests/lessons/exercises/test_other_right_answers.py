"""Right answers in any form pass, not only the given solutions."""

from __future__ import annotations

import inspect
import sys
from importlib.util import find_spec, module_from_spec
from threading import Thread
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay, transform
from byoc_lab.lessons import check, exercise
from byoc_lab.lessons.solutions import solution
from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call, IRModule, Var
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end
from byoc_lab.relay.patterns import is_op, wildcard


def test_module_may_be_the_answer() -> None:
    for name in ("add-the-missing-begin", "add-the-missing-end", "annotate-diamond"):
        task = exercise(name, seed=4)
        assert task.check(solution(name).answer(task.start()))


def test_module_edited_as_text_passes() -> None:
    task = exercise("add-the-missing-end")
    text = task.start().astext()
    (line,) = [line for line in text.splitlines() if "exp(" in line]
    relu = line.split("exp(")[1].split(")")[0]
    ended = line.replace(relu, f'annotation.compiler_end({relu}, compiler="edu")')
    assert task.check(relay.parse(text.replace(line, ended)))


def test_diamond_may_be_cut_after_its_first_operator() -> None:
    """The branch without exp may belong to the second region as well as to the first."""

    def answer(mod: IRModule) -> IRModule:
        seen: list[Call] = []

        def change(call: Call) -> Any:
            if isinstance(call.args[0], Var):
                seen.append(Call(call.op, [compiler_begin(call.args[0], "edu")], call.attrs))
                return compiler_end(seen[-1], "edu")
            if call.is_op("exp"):
                return call
            if call.is_op("add"):
                way, host = call.args
                return compiler_end(Call(call.op, [way, compiler_begin(host, "edu")]), "edu")
            (value,) = call.args
            if value.is_op("annotation.compiler_end"):
                return Call(call.op, [compiler_begin(value, "edu")], call.attrs)
            return call

        return change_calls(mod, change)

    verdict = check("annotate-diamond", answer)
    assert verdict, str(verdict)


def test_any_table_order_without_shadowing_passes() -> None:
    order = ["conv2d_bias_relu", "conv2d_relu", "conv2d_bias", "conv2d"]

    def answer(table: Any) -> Any:
        return tuple(sorted(table, key=lambda entry: order.index(entry[0].split(".")[1])))

    assert check("unshadow-a-table", answer)


def test_table_with_a_looser_pattern_and_a_check_passes() -> None:
    def complete(call: Call) -> bool:
        value = call.args[0]
        if not value.is_op("add"):
            return False
        return any(isinstance(arg, Call) and arg.is_op("nn.conv2d") for arg in value.args)

    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    summed = is_op("add")(conv, wildcard()) | is_op("add")(wildcard(), conv)
    table = [("edu.conv2d_bias_relu", is_op("nn.relu")(summed), complete)]
    assert check("write-conv-bias-relu", table)


def test_batch_norm_may_be_folded_by_the_pipeline_of_dnnl() -> None:
    def answer(mod: IRModule) -> IRModule:
        with byoc_lab.PassContext(opt_level=3):
            steps = [transform.SimplifyInference(), transform.FoldConstant()]
            steps += [transform.FoldScaleAxis(), transform.FoldConstant()]
            return byoc_lab.Sequential(steps)(mod)

    assert check("remove-the-leftover-multiply", answer)


RUN = transform.MergeComposite.run_function


def _directly(mod: IRModule, table: Any) -> IRModule:
    """Calls the class's original function, which later changes of its attribute do not affect."""
    merged = RUN(transform.MergeComposite(table), mod["main"], mod, byoc_lab.PassContext())
    return transform.InferType()(IRModule.from_expr(merged))


def _imported_again(mod: IRModule, table: Any) -> IRModule:
    spec = find_spec("byoc_lab.passes.byoc.merge_composite")
    assert spec is not None and spec.loader is not None
    again = module_from_spec(spec)
    spec.loader.exec_module(again)
    merged: IRModule = getattr(again, "Merge" + "Composite")(table)(mod)
    return merged


def _from_its_source(mod: IRModule, table: Any) -> IRModule:
    module = sys.modules[transform.MergeComposite.__module__]
    text = inspect.getsource(module).replace("MergeComposite", "Mine")
    made = dict(vars(module))
    exec(compile(text, "<my own>", "exec"), made)
    merged: IRModule = made["Mine"](table)(mod)
    return merged


def _in_a_thread(mod: IRModule, table: Any) -> IRModule:
    made: list[IRModule] = []
    thread = Thread(target=lambda: made.append(_imported_again(mod, table)))
    thread.start()
    thread.join()
    return made[0]


def _unseen(mod: IRModule, table: Any) -> IRModule:
    sys.setprofile(None)
    return _directly(mod, table)


@pytest.mark.parametrize(
    "answer",
    [
        lambda mod, table: byoc_lab.trace(mod, [transform.MergeComposite(table)]).result,
        lambda mod, table: transform.MergeComposite(table).run(mod, byoc_lab.PassContext()),
        _directly, _imported_again, _from_its_source, _in_a_thread, _unseen,
    ],
    ids=["trace", "by its method", "by its function", "again", "source", "in a thread", "unseen"],
)  # fmt: skip
def test_answer_that_calls_the_pass_itself_is_a_mistake(answer: Any) -> None:
    before = sys.getprofile()
    assert check("write-merge-composite", answer).mistake == "the-pass"
    assert sys.getprofile() is before


def test_wrong_region_can_be_found_by_numbers() -> None:
    from byoc_lab.relay.ir.visit import post_order

    def result_of(mod: IRModule, name: str) -> Any:
        """The result of evaluating up to a region: its call becomes the body of @main."""
        calls = [n for n in post_order(mod["main"]) if isinstance(n, Call)]
        (call,) = [c for c in calls if getattr(c.op, "name_hint", "") == name]
        part = mod.copy()
        part["main"] = relay.Function(mod["main"].params, call)
        x = relay.testing.init.np.ones((2, 3), "float32")
        return byoc_lab.evaluate(transform.InferType()(part), {"x": x}).value

    def answer(right: IRModule, wrong: IRModule) -> str:
        calls = [n for n in post_order(right["main"]) if isinstance(n, Call)]
        names = [c.op.name_hint for c in calls if isinstance(c.op, relay.GlobalVar)]
        return next(n for n in names if (result_of(right, n) != result_of(wrong, n)).any())

    verdict = check("find-the-wrong-region", answer)
    assert verdict, str(verdict)


def test_different_correct_c_kernel_passes() -> None:
    text = """
    #include <math.h>
    void bias_relu(const float* x, const float* bias, float* out, int channels, int pixels) {
      for (int i = 0; i < channels * pixels; i++) out[i] = fmaxf(0.f, x[i] + bias[i / pixels]);
    }
    """
    verdict = check("c-kernel", text)
    assert verdict or not verdict.judged, str(verdict)
