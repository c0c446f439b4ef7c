"""The steps of a comparison in JSON form, applied to a module of either side.

A step is one of

    "InferType"                                            a pass with its defaults
    {"pass": "PartitionGraph", "mod_name": "m"}            a pass with arguments
    {"pass": "MergeComposite", "table": "dnnl"}            a table of `tables.py` by its name
    {"pass": "InlineCompilerFunctionsBoundTo", "names": ["a_0"]}
    {"pass": "FoldScaleAxis", "opt_level": 3}              run inside PassContext(opt_level=3)
    {"pass": "FuseOps", "config": {"relay.FuseOps.max_depth": 3}}
    {"pass": "Legalize", "target": "c"}                    run inside TVM's Target("c")
    {"pass": "Legalize", "registered": "scaled"}           functions of `registered.py`
    {"sequential": ["InferType", ...], "opt_level": 3}     run by tvm.transform.Sequential
    {"pass": "MergeComposite", "table": "contrib.dnnl"}    the whole table of relay.op.contrib.dnnl
    {"dnnl": "rewrite_layer_norm"}                         a function of relay.op.contrib.dnnl
    {"integration": "cublas", "opt_level": 3}              TVM's partition_for_cublas
    {"integration": "bnns", "function": "preprocess"}      another function of the integration
    {"annotate": "conv_args", "compiler": "dnnl"}          an annotator of `annotators.py`
    {"equals": text}                                       an error unless it is this module
    "drop_let_begins"                                      the function of `annotators.py`
    {"reads": text}                  an error unless TVM reads this module from `text` (server.py)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .annotators import annotate, drop_let_begins
from .registered import registered
from .tables import register_targets, table

# The operators that TVM's DNNL integration supports alone.
DNNL_OPERATORS = (
    "nn.batch_norm", "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose",
    "nn.conv3d_transpose", "nn.dense", "nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d",
    "nn.max_pool3d", "nn.avg_pool3d", "abs", "clip", "exp", "log", "sqrt", "round", "nn.relu",
    "nn.leaky_relu", "tanh", "sigmoid", "nn.softmax", "add", "multiply", "nn.layer_norm",
    "nn.batch_matmul",
)  # fmt: skip

Step = Any  # str or dict, see above


def apply(step: Step, mod: Any, tvm: Any, relay: Any) -> Any:
    """The module that `step` makes of `mod`.

    Raises any error of the pass.
    """
    if step == "drop_let_begins":
        return drop_let_begins(mod, relay)
    arguments = dict(step) if isinstance(step, dict) else {"pass": step}
    if "equals" in arguments:
        infer = relay.transform.InferType()
        other = infer(relay.parse(arguments["equals"]))
        tvm.ir.assert_structural_equal(infer(mod), other)
        return mod
    if "annotate" in arguments:
        return annotate(mod, relay, arguments["annotate"], arguments.get("compiler", "dnnl"))
    if arguments.get("dnnl") == "partition_for_dnnl":
        return _partition_for_dnnl(mod, tvm, relay)
    if arguments.get("dnnl") == "legalize_group_conv":
        return _legalize_group_conv(mod, relay)
    if "dnnl" in arguments:
        mod = getattr(_contrib_dnnl(relay), arguments["dnnl"])(mod)
        for later in arguments.get("then", ()):  # not by way of text, which shares no scalars
            mod = apply(later, mod, tvm, relay)
        return mod
    if "target" in arguments:
        target = arguments.pop("target")
        if relay.__name__.startswith("byoc_lab"):  # byoc_lab's pass has no targets
            return apply(arguments, mod, tvm, relay)
        with tvm.target.Target(target):
            return apply(arguments, mod, tvm, relay)
    level, config = arguments.pop("opt_level", None), arguments.pop("config", None)
    if "integration" in arguments:
        run = _of_integration(relay, **arguments)
    elif "sequential" in arguments:
        passes = [_pass({"pass": name}, relay) for name in arguments["sequential"]]
        run = tvm.transform.Sequential(passes)
    else:
        run = _pass(arguments, relay)
    if level is None and config is None:
        return run(mod)
    with tvm.transform.PassContext(opt_level=2 if level is None else level, config=config):
        return run(mod)


def _pass(arguments: dict[str, Any], relay: Any) -> Any:
    arguments = dict(arguments)
    name = arguments.pop("pass")
    make = transform_of(name, relay)
    if name == "MergeComposite" and arguments["table"] == "contrib.dnnl":
        return make(_contrib_dnnl(relay).pattern_table())
    if name == "MergeComposite":
        return make(table(arguments["table"], relay.dataflow_pattern))
    if name == "AnnotateTarget":
        return make(arguments.pop("targets"), **arguments)
    if name == "InlineCompilerFunctionsBoundTo":
        return lambda mod: make([mod.get_global_var(n) for n in arguments["names"]])(mod)
    if "registered" in arguments:
        key = arguments.pop("registered")
        return lambda mod: _with_registered(make(**arguments), mod, relay, name, key)
    return make(**arguments)


def transform_of(name: str, relay: Any) -> Any:
    """The pass with this name, or None; byoc_lab has some only in compat."""
    found = getattr(relay.transform, name, None)
    if found is None and relay.__name__.startswith("byoc_lab"):
        return getattr(import_module("byoc_lab.compat.passes"), name, None)
    return found


def _legalize_group_conv(mod: Any, relay: Any) -> Any:
    """Legalize with a function of operators, not of modules, registered during one run."""
    if relay.__name__.startswith("byoc_lab"):
        return import_module("byoc_lab.backends.dnnl.legalize").LegalizeGroupConv()(mod)
    temporary = import_module("tvm.relay.testing.temp_op_attr").TempOpAttr
    legalize = _contrib_dnnl(relay).legalize_group_conv
    with temporary("nn.conv2d", "FTVMLegalize", legalize):
        return relay.transform.Legalize()(mod)


def _partition_for_dnnl(mod: Any, tvm: Any, relay: Any) -> Any:
    """The steps of tests/python/contrib/test_dnnl.py, where TVM defines this function."""
    _register_own_predicates(tvm, relay)
    try:
        if relay.__name__.startswith("byoc_lab"):
            return _contrib_dnnl(relay).partition_for_dnnl(mod, alter_layout=False)
        return _partition_with_tvm(mod, tvm, relay)
    finally:
        register_targets(tvm)


def _partition_with_tvm(mod: Any, tvm: Any, relay: Any) -> Any:
    dnnl, transform = _contrib_dnnl(relay), relay.transform
    before = (
        transform.CanonicalizeOps(), transform.InferType(), transform.SimplifyInference(),
        transform.FoldConstant(), transform.FoldScaleAxis(), transform.SimplifyExpr(),
        transform.FoldConstant(),
    )  # fmt: skip
    with tvm.transform.PassContext(opt_level=3):
        for step in before:
            mod = step(mod)
        mod = transform.FoldConstant()(_legalize_group_conv(mod, relay))
    mod = dnnl.rewrite_dense_bias_gelu_reshape_last(dnnl.rewrite_layer_norm(mod))
    after = (
        transform.InferType(), transform.FoldConstant(),
        transform.MergeComposite(dnnl.pattern_table()), transform.AnnotateTarget("dnnl"),
        transform.MergeCompilerRegions(), transform.PartitionGraph(),
    )  # fmt: skip
    with tvm.transform.PassContext(opt_level=3):
        for step in after:
            mod = step(mod)
        return dnnl.prune_dnnl_subgraphs(mod)


def _register_own_predicates(tvm: Any, relay: Any) -> None:
    """Registers DNNL's own predicates for AnnotateTarget, in place of those in `tables.py`."""
    for name in tvm.ir.Op.list_op_names():
        tvm.ir.Op.get(name).reset_attr("target.dnnl")
    if relay.__name__.startswith("byoc_lab"):
        predicates = import_module("byoc_lab.backends").get("dnnl").supports
        for name in DNNL_OPERATORS:
            tvm.ir.Op.get(name).set_attr("target.dnnl", predicates[name])
        return
    for name in DNNL_OPERATORS:
        _contrib_dnnl(relay)._register_external_op_helper(name)


def _contrib_dnnl(relay: Any) -> Any:
    return _contrib(relay, "dnnl")


def _contrib(relay: Any, name: str) -> Any:
    if relay.__name__.startswith("byoc_lab"):  # in compat only
        return import_module(f"byoc_lab.compat.integrations.{name}")
    return import_module(f"{relay.__name__}.op.contrib.{name}")


def _of_integration(relay: Any, integration: str, function: str = "", **options: Any) -> Any:
    run = getattr(_contrib(relay, integration), function or f"partition_for_{integration}")
    return lambda mod: run(mod, **options)


def _with_registered(run: Any, mod: Any, relay: Any, name: str, key: str) -> Any:
    with registered(relay, name, key):
        return run(mod)


def describe(step: Step) -> str:
    """The step in one line, for the head of a golden file."""
    if isinstance(step, str):
        return step
    if "annotate" in step:
        return f"annotate({step['annotate']})"
    if "dnnl" in step:
        return ", ".join([str(step["dnnl"]), *map(describe, step.get("then", ()))])
    if "integration" in step:
        function = step.get("function") or f"partition_for_{step['integration']}"
        level = step.get("opt_level")
        return f"{function}(opt_level={level})" if level else function
    name = step.get("pass") or "Sequential[" + ", ".join(step["sequential"]) + "]"
    rest = {key: value for key, value in step.items() if key not in ("pass", "sequential")}
    inside = ", ".join(f"{key}={value!r}" for key, value in rest.items())
    return f"{name}({inside})" if inside else name
