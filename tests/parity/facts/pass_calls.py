"""The calls that TVM's pass manager makes to passes and instruments: scenarios that record them.

TVM's records are the golden file pass_calls.json. The same file runs under TVM's Python, where it
prints them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

FILE = "pass_calls.json"
HOOKS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")

Scenario = Callable[[Any, Any, list[str]], None]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    """Registers a scenario: `function(tvm, relay, recorded)` appends to `recorded`."""
    SCENARIOS[function.__name__.replace("_", " ")] = function
    return function


def module(tvm: Any, relay: Any) -> Any:
    x = relay.var("x", shape=(2, 2))
    three = relay.add(relay.const(1.0), relay.const(2.0))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.nn.relu(relay.add(x, three))))


def listener(
    tvm: Any, recorded: list[str], name: str = "i", raises: str = "", skips: str = ""
) -> Any:
    """An instrument that records its calls, raises in one hook, or skips one pass."""

    def hook(method: str) -> Any:
        def call(self: Any, mod: Any = None, info: Any = None) -> Any:
            recorded.append(" ".join([name, method, *([info.name] if info else [])]))
            if method == raises:
                raise RuntimeError("as it was told")
            return info is None or info.name != skips

        if method.endswith("_ctx"):
            return lambda self: call(self) and None
        return lambda self, mod, info: call(self, mod, info)

    return tvm.ir.instrument.pass_instrument(type("Listener", (), {m: hook(m) for m in HOOKS}))()


def attempt(recorded: list[str], action: Callable[[], Any]) -> None:
    try:
        action()
    except Exception as error:
        kinds = (AttributeError, TypeError, ValueError, RuntimeError)
        recorded.append(f"raised {next(k.__name__ for k in kinds if isinstance(error, k))}")


@scenario
def a_pass_by_itself(tvm, relay, recorded):
    mod = module(tvm, relay)
    with tvm.transform.PassContext(instruments=[listener(tvm, recorded)]):
        relay.transform.InferType()(mod)


@scenario
def a_function_pass_ends_with_InferType(tvm, relay, recorded):
    mod = module(tvm, relay)
    with tvm.transform.PassContext(instruments=[listener(tvm, recorded)]):
        relay.transform.FoldConstant()(mod)
        relay.transform.SimplifyInference()(mod)


@scenario
def levels_and_requirements(tvm, relay, recorded):
    mod = module(tvm, relay)
    for level in (0, 1, 2, 3):
        recorded.append(f"level {level}")
        with tvm.transform.PassContext(opt_level=level, instruments=[listener(tvm, recorded)]):
            passes = [relay.transform.SimplifyInference(), relay.transform.FoldScaleAxis()]
            tvm.transform.Sequential(passes, name="both")(mod)


@scenario
def required_and_disabled(tvm, relay, recorded):
    mod = module(tvm, relay)
    fold = relay.transform.FoldConstant
    for options in (
        {"opt_level": 0, "required_pass": ["FoldConstant"]},
        {"opt_level": 3, "disabled_pass": ["FoldConstant"]},
        {"opt_level": 3, "disabled_pass": ["InferType"]},
        {"required_pass": ["FoldConstant"], "disabled_pass": ["FoldConstant"]},
    ):
        recorded.append(str(sorted(options.items())))
        with tvm.transform.PassContext(**options, instruments=[listener(tvm, recorded)]):
            tvm.transform.Sequential([fold(), relay.transform.SimplifyInference()])(mod)
            fold()(mod)


@scenario
def a_sequence_in_a_sequence(tvm, relay, recorded):
    mod = module(tvm, relay)
    inner = tvm.transform.Sequential([relay.transform.FoldConstant()], 3, "inner", ["InferType"])
    for level in (2, 3):
        with tvm.transform.PassContext(opt_level=level, instruments=[listener(tvm, recorded)]):
            tvm.transform.Sequential([inner])(mod)
            inner(mod)


@scenario
def who_says_no(tvm, relay, recorded):
    mod = module(tvm, relay)
    both = [listener(tvm, recorded, "a", skips="FoldConstant"), listener(tvm, recorded, "b")]
    for required in ([], ["FoldConstant"]):
        with tvm.transform.PassContext(required_pass=required, instruments=both):
            after = relay.transform.FoldConstant()(mod)
            recorded.append(f"same {after['main'] == mod['main']}" if not required else "ran")


@scenario
def contexts_in_contexts(tvm, relay, recorded):
    mod = module(tvm, relay)
    with tvm.transform.PassContext(instruments=[listener(tvm, recorded, "outer")]):
        with tvm.transform.PassContext(opt_level=1):
            relay.transform.InferType()(mod)
        with tvm.transform.PassContext(instruments=[listener(tvm, recorded, "inner")]) as ctx:
            relay.transform.InferType()(mod)
            current = tvm.transform.PassContext.current()
            recorded.append(f"{current.opt_level} {len(current.instruments)} {ctx.opt_level}")
        relay.transform.InferType()(mod)


@scenario
def what_raises(tvm, relay, recorded):
    mod = module(tvm, relay)
    for raises in HOOKS:
        recorded.append(f"raises in {raises}")
        names = ("a", "b", "c")
        told = [listener(tvm, recorded, n, raises if n == "b" else "") for n in names]
        ctx = tvm.transform.PassContext(instruments=told)

        def run(ctx=ctx):
            with ctx:
                relay.transform.InferType()(mod)

        attempt(recorded, run)
        recorded.append(f"left with {len(ctx.instruments)} instruments")
        outside = tvm.transform.PassContext.current()
        recorded.append(f"outside {len(outside.instruments)} instruments")


@scenario
def a_pass_that_raises(tvm, relay, recorded):
    mod = module(tvm, relay)

    @tvm.transform.module_pass(opt_level=1)
    def broken(mod, ctx):
        recorded.append("broken")
        raise RuntimeError("as it was told")

    def run():
        with tvm.transform.PassContext(instruments=[listener(tvm, recorded)]):
            broken(mod)

    attempt(recorded, run)


@scenario
def instruments_are_replaced(tvm, relay, recorded):
    mod = module(tvm, relay)
    current = tvm.transform.PassContext.current()
    current.override_instruments([listener(tvm, recorded, "first")])
    relay.transform.InferType()(mod)
    current.override_instruments([listener(tvm, recorded, "second")])
    relay.transform.InferType()(mod)
    broken = listener(tvm, recorded, "third", "enter_pass_ctx")
    attempt(recorded, lambda: current.override_instruments([broken]))
    relay.transform.InferType()(mod)
    recorded.append(f"{len(current.instruments)} instruments")
    current.override_instruments(None)


@scenario
def the_last_of_three_cannot_enter(tvm, relay, recorded):
    all_three = [listener(tvm, recorded, name) for name in ("first", "second")]
    all_three.append(listener(tvm, recorded, "third", "enter_pass_ctx"))
    context = tvm.transform.PassContext(instruments=all_three)
    attempt(recorded, context.__enter__)


@scenario
def passes_of_ones_own(tvm, relay, recorded):
    mod = module(tvm, relay)

    @tvm.transform.module_pass(opt_level=1, required=["InferType"])
    def of_module(mod, ctx):
        recorded.append(f"of_module at {ctx.opt_level}")
        return mod

    @relay.transform.function_pass(opt_level=2, name="renamed")
    def of_function(func, mod, ctx):
        recorded.append(f"of_function at {ctx.opt_level}: {len(func.params)} parameters")
        return func

    @tvm.transform.module_pass(opt_level=3)
    class OfModule:
        """Its words."""

        def __init__(self, word):
            self.word = word

        def transform_module(self, mod, ctx):
            recorded.append(self.word)
            return mod

    @relay.transform.function_pass(opt_level=0)
    class OfFunction:
        def transform_function(self, func, mod, ctx):
            recorded.append("OfFunction")
            return func

    passes = [of_module, of_function, OfModule("a word"), OfFunction()]
    for p in passes:
        kinds = tvm.transform.Pass, tvm.transform.ModulePass, relay.transform.FunctionPass
        info = p.info
        recorded.append(f"{info.name} {info.opt_level} {list(info.required or [])}")
        recorded.append(str([isinstance(p, kind) for kind in kinds]))
    recorded.append(f"{OfModule.__doc__} {OfModule.__name__} {passes[2].word}")
    with tvm.transform.PassContext(opt_level=2, instruments=[listener(tvm, recorded)]):
        tvm.transform.Sequential(passes)(mod)
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["OfFunction"]):
        tvm.transform.Sequential(passes)(mod)


@scenario
def what_is_refused(tvm, relay, recorded):
    ir = tvm.transform
    for refused in (
        lambda: ir.module_pass(lambda mod, ctx: mod),
        lambda: relay.transform.function_pass(lambda func, mod, ctx: func),
        lambda: ir.module_pass(3, opt_level=1, name="three"),
        lambda: ir.module_pass(opt_level=1, required="InferType"),
        lambda: ir.Sequential(3),
        lambda: ir.Sequential([], required="InferType"),
        lambda: tvm.ir.instrument.pass_instrument(3),
        lambda: ir.PassContext(config={"no.such.setting": 1}),
        lambda: ir.PassContext(config={"relay.FuseOps.max_depth": "deep"}),
        lambda: ir.PassContext(config={"relay.FuseOps.max_depth": 4, "tir.noalias": True}),
        lambda: relay.transform.InferType()(3),
    ):
        recorded.append("attempt")
        attempt(recorded, refused)


@scenario
def what_passes_say_of_themselves(tvm, relay, recorded):
    for name in (
        "BackwardFoldScaleAxis",
        "DeadCodeElimination",
        "DefuseOps",
        "FoldConstant",
        "FoldScaleAxis",
        "ForwardFoldScaleAxis",
        "InferType",
        "RemoveUnusedFunctions",
        "SimplifyInference",
        "ToANormalForm",
        "ToGraphNormalForm",
    ):
        made = getattr(relay.transform, name)()
        recorded.append(str(made.info))
        recorded.append(str(isinstance(made, relay.transform.FunctionPass)))


@scenario
def passes_made_of_passes(tvm, relay, recorded):
    """Without InferType, because the number of type inferences inside a pass is not specified."""
    transform = relay.transform
    tvm.ir.register_op_attr("nn.relu", "target.recorded", lambda call: True)
    mod = module(tvm, relay)
    for made in (
        transform.AnnotateTarget("recorded"),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(),
    ):
        all_calls: list[str] = []
        with tvm.transform.PassContext(instruments=[listener(tvm, all_calls)]):
            mod = made(mod)
        recorded += [call for call in all_calls if not call.endswith(" InferType")]
    tvm.ir.Op.get("nn.relu").reset_attr("target.recorded")


@scenario
def a_part_of_a_pass_that_is_skipped(tvm, relay, recorded):
    tvm.ir.register_op_attr("nn.relu", "target.recorded", lambda call: True)
    mod = relay.transform.AnnotateTarget("recorded")(module(tvm, relay))
    tvm.ir.Op.get("nn.relu").reset_attr("target.recorded")
    instrument = listener(tvm, [], skips="PartitionGraph")
    with tvm.transform.PassContext(instruments=[instrument]):
        left = relay.transform.PartitionGraph()(mod)
    recorded.append("annotated" if "annotation.compiler_begin" in str(left) else "partitioned")


def golden_text() -> str:
    """The golden file."""
    from ..client import printed_by_tvm

    return json.dumps(printed_by_tvm(__file__), indent=1) + "\n"


if __name__ == "__main__":
    import tvm
    from tvm import relay

    found: dict[str, list[str]] = {}
    for name, run in SCENARIOS.items():
        run(tvm, relay, found.setdefault(name, []))
    print(json.dumps(found))
