"""The steps of a comparison, as JSON can carry them, applied to a module of either side.

A step is one of

    "InferType"                                            a pass with its defaults
    {"pass": "PartitionGraph", "mod_name": "m"}            a pass with arguments
    {"pass": "MergeComposite", "table": "dnnl"}            a table of `tables.py` by its name
    {"pass": "InlineCompilerFunctionsBoundTo", "names": ["a_0"]}
    {"pass": "FoldScaleAxis", "opt_level": 3}              run inside PassContext(opt_level=3)
    {"pass": "FuseOps", "config": {"relay.FuseOps.max_depth": 3}}
    {"pass": "Legalize", "registered": "scaled"}           functions of `registered.py`
    {"sequential": ["InferType", ...], "opt_level": 3}     run by tvm.transform.Sequential
    {"pass": "MergeComposite", "table": "contrib.dnnl"}    the whole table of relay.op.contrib.dnnl
    {"dnnl": "rewrite_layer_norm"}                         a function of relay.op.contrib.dnnl
    {"annotate": "conv_args", "compiler": "dnnl"}          an annotator of `annotators.py`
    {"equals": text}                                       nothing if it is that module
    "drop_let_begins"                                      its mender of annotated let values
    {"reads": text}                  an error unless TVM reads the very module in `text` (server.py)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .annotators import annotate, drop_let_begins
from .registered import registered
from .tables import table

Step = Any  # str or dict, see above


def apply(step: Step, mod: Any, tvm: Any, relay: Any) -> Any:
    """The module that `step` makes of `mod`. Raises whatever the pass raises."""
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
    if arguments.get("dnnl") == "legalize_group_conv":
        return _legalize_group_conv(mod, relay)
    if "dnnl" in arguments:
        return getattr(_contrib_dnnl(relay), arguments["dnnl"])(mod)
    level, config = arguments.pop("opt_level", None), arguments.pop("config", None)
    if "sequential" in arguments:
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
    make = getattr(relay.transform, name)
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


def _legalize_group_conv(mod: Any, relay: Any) -> Any:
    """A function of operators, not of modules: put in place for one run of TVM's Legalize."""
    if relay.__name__.startswith("byoc_lab"):
        return import_module("byoc_lab.dnnl.legalize").LegalizeGroupConv()(mod)
    temporary = import_module("tvm.relay.testing.temp_op_attr").TempOpAttr
    legalize = _contrib_dnnl(relay).legalize_group_conv
    with temporary("nn.conv2d", "FTVMLegalize", legalize):
        return relay.transform.Legalize()(mod)


def _contrib_dnnl(relay: Any) -> Any:
    return import_module(f"{relay.__name__}.op.contrib.dnnl")


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
        return str(step["dnnl"])
    name = step.get("pass") or "Sequential[" + ", ".join(step["sequential"]) + "]"
    rest = {key: value for key, value in step.items() if key not in ("pass", "sequential")}
    inside = ", ".join(f"{key}={value!r}" for key, value in rest.items())
    return f"{name}({inside})" if inside else name
