"""The source of each name of TVM: the one table of `byoc_lab.compat`.

`SOURCES` maps a module of TVM to the modules in which its names are looked up, in this order. A
source is a module of byoc_lab or, with the prefix "apache-tvm:", a module of the installed
apache-tvm. A submodule without a row is the submodule of the same name of a source, if it exists;
so `tvm.relay.testing.resnet` needs no row. A row without sources is for a module that scripts
import but may not use: the import succeeds, but the module has no names. `WHOLE` lists modules that
are used unchanged instead of by name.

`INSTEAD` maps prefixes of unsupported names to advice; the longest prefix counts.
"""

from __future__ import annotations

APACHE = "apache-tvm:"

_RELAY = "byoc_lab.relay"
_HERE = "byoc_lab.compat"
_BUILDERS = (f"{_HERE}.op.operators", f"{_RELAY}.op", _RELAY)  # `relay.op.add` is `relay.add`
_CONTRIB = (f"{_HERE}.op.contrib",)
_PASSES = (
    f"{_HERE}.variants.announced",
    f"{_HERE}.variants.annotate_target",
    f"{_HERE}.passes",
    "byoc_lab.passes",
)
_NN = (f"{_RELAY}.nn", f"{_RELAY}.ir.expr")  # `relay.nn.Constant`
_ANALYSES = (
    f"{_RELAY}.analysis.queries",
    f"{_HERE}.variants.analysis",
    f"{_HERE}.variants.features",
)
_RELAY_PASSES = (*_PASSES, f"{_HERE}.ir.relay_names")

SOURCES: dict[str, tuple[str, ...]] = {
    "tvm": (f"{_HERE}.toplevel", f"{APACHE}tvm"),
    "tvm._ffi": (f"{_HERE}.toplevel",),
    "tvm.auto_scheduler": (),
    "tvm.autotvm": (),
    "tvm.container": (f"{_HERE}.ir.containers",),
    "tvm.meta_schedule": (),
    "tvm._ffi.base": (f"{_HERE}.toplevel",),
    "tvm._ffi.registry": (f"{_HERE}.toplevel",),
    "tvm.error": (f"{_HERE}.toplevel", f"{APACHE}tvm.error"),
    "tvm.nd": (f"{_HERE}.runtime.nd",),
    "tvm.parser": (f"{_HERE}.text.parser",),
    "tvm.target": (f"{_HERE}.runtime.target", f"{APACHE}tvm.target"),
    "tvm.te": (f"{_HERE}.ir.te", f"{APACHE}tvm.te"),
    "tvm.testing": (f"{_HERE}.testing.testing", f"{APACHE}tvm.testing"),
    "tvm.testing.utils": (f"{_HERE}.testing.testing", f"{APACHE}tvm.testing.utils"),
    "tvm.topi.util": (f"{APACHE}tvm.topi.utils",),
    "tvm.tir": (f"{_HERE}.ir.tir", f"{APACHE}tvm.tirx"),
    "tvm.tir.data_layout": (f"{_HERE}.ir.tir",),
    "tvm.tir.expr": (f"{_HERE}.ir.tir", f"{APACHE}tvm.tirx.expr"),
    "tvm.instrument": ("byoc_lab.passes.framework.instrument",),
    "tvm.script": (f"{APACHE}tvm.script",),
    "tvm.script.tir": (f"{APACHE}tvm.script.tirx",),
    "tvm.transform": _PASSES,
    # tvm.ir
    "tvm.ir": (
        f"{_HERE}.ir.ir",
        f"{_HERE}.ir.records",
        _RELAY,
        f"{_RELAY}.analysis.affine_type",
        f"{_HERE}.ir.supply",
        f"{_HERE}.ir.tir",
        f"{APACHE}tvm.ir",
    ),
    "tvm.ir.adt": (f"{_RELAY}.ir.adt",),
    "tvm.ir.affine_type": (f"{_RELAY}.analysis.affine_type",),
    "tvm.ir.attrs": (f"{_HERE}.ir.records",),
    "tvm.ir.base": (
        f"{_HERE}.ir.records",
        f"{_HERE}.ir.ir",
        f"{_RELAY}.ir.span",
        f"{_RELAY}.ir.source_map",
    ),
    "tvm.ir.container": (f"{_HERE}.ir.containers",),
    "tvm.ir.diagnostics": (f"{_HERE}.text.diagnostics",),
    "tvm.ir.expr": (f"{_RELAY}.ir.expr", f"{_HERE}.ir.tir", f"{APACHE}tvm.ir"),
    "tvm.ir.instrument": ("byoc_lab.passes.framework.instrument",),
    "tvm.ir.module": (f"{_RELAY}.ir.module",),
    "tvm.ir.op": (f"{_HERE}.ir.ir", f"{_RELAY}.ir.expr"),
    "tvm.ir.supply": (f"{_HERE}.ir.supply",),
    "tvm.ir.tensor_type": (f"{_RELAY}.ir.types",),
    "tvm.ir.transform": (f"{_HERE}.passes", "byoc_lab.passes"),
    "tvm.ir.type": (f"{_RELAY}.ir.types",),
    # tvm.relay
    "tvm.relay": (
        f"{_HERE}.runtime.building",
        f"{_HERE}.ir.relay_names",
        _RELAY,
        f"{_HERE}.runtime.executors",
    ),
    "tvm.relay.adt": (f"{_RELAY}.ir.adt", f"{_RELAY}.ir.expr"),
    "tvm.relay.analysis": _ANALYSES,
    "tvm.relay.analysis.analysis": _ANALYSES,
    "tvm.relay.analysis.annotated_regions": (f"{_HERE}.variants.analysis",),
    "tvm.relay.analysis.call_graph": (f"{_HERE}.variants.analysis",),
    "tvm.relay.analysis.feature": (f"{_HERE}.variants.features",),
    "tvm.relay.backend": (f"{_HERE}.runtime.building",),
    "tvm.relay.collage": (),
    "tvm.relay.data_dep_optimization": (),
    "tvm.relay.data_dep_optimization.simplify_fc_transpose": (
        f"{_HERE}.passes.simplify.simplify_fc_transpose",
    ),
    "tvm.relay.debug": (),
    "tvm.relay.frontend": (f"{_RELAY}.frontend",),
    "tvm.relay.frontend.common": (
        f"{_HERE}.ir.frontend_common",
        f"{_HERE}.ir.frontend_attributes",
        f"{_HERE}.ir.frontend_builders",
    ),
    "tvm.relay.loops": (f"{_HERE}.ir.loops",),
    "tvm.relay.random": (),
    "tvm.relay.prelude": (f"{_HERE}.ir.prelude",),
    "tvm.relay.scope_builder": (f"{_HERE}.ir.scope_builder",),
    "tvm.relay.type_functor": (f"{_HERE}.ir.type_functor",),
    "tvm.relay.qnn": (f"{_RELAY}.qnn", f"{_RELAY}.qnn.op"),
    "tvm.relay.qnn.op.canonicalizations": (f"{_HERE}.op.canonicalizations",),
    "tvm.relay.qnn.op.legalizations": (f"{_HERE}.op.qnn_legalizations",),
    "tvm.relay.quantize": (),
    "tvm.relay.backend.executor": (f"{_HERE}.runtime.building",),
    "tvm.relay.backend.executor_factory": (f"{_HERE}.runtime.building",),
    "tvm.relay.backend.graph_executor_factory": (f"{_HERE}.runtime.building",),
    "tvm.relay.backend.interpreter": (f"{_HERE}.runtime.executors", f"{_HERE}.ir.containers"),
    "tvm.relay.backend.runtime": (f"{_HERE}.runtime.building",),
    "tvm.relay.backend.compile_engine": (f"{_HERE}.runtime.te_compiler",),  # until TVM 0.7
    "tvm.relay.backend.te_compiler": (f"{_HERE}.runtime.te_compiler",),
    "tvm.relay.backend.utils": (f"{_HERE}.ir.relay_names",),
    "tvm.relay.backend.vm": (f"{_HERE}.runtime.vm",),
    "tvm.relay.base": (f"{_HERE}.ir.relay_names", f"{_RELAY}.ir.expr", f"{_RELAY}.ir.span"),
    "tvm.relay.build_module": (
        f"{_HERE}.runtime.building",
        f"{_RELAY}.build_module",
        f"{_HERE}.runtime.executors",
    ),
    "tvm.relay.expr": (f"{_RELAY}.ir.expr", f"{_HERE}.ir.with_fields", f"{_HERE}.ir.relay_names"),
    "tvm.relay.function": (f"{_RELAY}.ir.expr", f"{_HERE}.ir.with_fields"),
    "tvm.relay.nn": _NN,
    "tvm.relay.op": _BUILDERS,
    "tvm.relay.op._make": _BUILDERS,
    "tvm.relay.op.algorithm": _BUILDERS,
    "tvm.relay.image": (f"{_HERE}.op.image", f"{_RELAY}.image"),
    "tvm.relay.op.annotation": (f"{_RELAY}.annotation",),
    "tvm.relay.op.annotation.annotation": (f"{_RELAY}.annotation",),
    "tvm.relay.op.image": (f"{_HERE}.op.image", f"{_RELAY}.image"),
    "tvm.relay.op.image.image": (f"{_HERE}.op.image", f"{_RELAY}.image"),
    "tvm.relay.op.nn": _NN,
    "tvm.relay.op.nn._make": (f"{_RELAY}.nn",),
    "tvm.relay.op.nn.nn": _NN,
    "tvm.relay.op.op": _BUILDERS,
    "tvm.relay.op.op_attrs": (f"{_HERE}.op.op_attrs",),
    "tvm.relay.op.reduce": _BUILDERS,
    "tvm.relay.op.strategy": (),
    "tvm.relay.op.strategy.generic": (f"{_HERE}.op.strategy",),
    "tvm.relay.op.tensor": _BUILDERS,
    "tvm.relay.op.transform": _BUILDERS,
    "tvm.relay.op.vision": (f"{_RELAY}.vision",),
    "tvm.relay.op.vision.multibox": (f"{_RELAY}.vision",),
    "tvm.relay.op.vision.nms": (f"{_RELAY}.vision",),
    "tvm.relay.op.vision.rcnn": (f"{_RELAY}.vision",),
    "tvm.relay.op.vision.yolo": (f"{_RELAY}.vision",),
    "tvm.relay.param_dict": (f"{_HERE}.runtime.params",),
    "tvm.relay.parser": (f"{_HERE}.text.parser",),
    "tvm.relay.testing": (f"{_HERE}.testing.relay_testing", f"{_RELAY}.testing"),
    "tvm.relay.testing.lstm": (f"{_HERE}.testing.lstm",),
    "tvm.relay.testing.synthetic": (f"{_HERE}.testing.synthetic",),
    "tvm.relay.testing.config": (f"{_HERE}.testing.relay_testing",),
    "tvm.relay.testing.byoc": (f"{_HERE}.testing.byoc_testing",),
    "tvm.relay.testing.py_converter": (f"{_HERE}.testing.relay_testing",),
    "tvm.relay.testing.temp_op_attr": (f"{_HERE}.testing.relay_testing",),
    "tvm.relay.op.contrib": (*_CONTRIB, f"{_HERE}.integrations", f"{_RELAY}.op.contrib"),
    "tvm.relay.op.contrib.register": (*_CONTRIB, f"{_RELAY}.op.contrib.register"),
    "tvm.relay.transform": _RELAY_PASSES,
    "tvm.relay.transform.fake_quantization_to_integer": (f"{_RELAY}.op",),
    "tvm.relay.transform.infer_layout_utils": (f"{_RELAY}.op.framework.layout_rules",),
    "tvm.relay.transform.mixed_precision": (f"{_HERE}.op.mixed_precision",),
    "tvm.relay.transform.transform": _RELAY_PASSES,
    "tvm.relay.ty": (f"{_HERE}.ir.ty", f"{_RELAY}.ir.types"),
    "tvm.relay.vm": (f"{_HERE}.runtime.vm",),
    # Running
    "tvm.driver": (),
    "tvm.contrib": (f"{APACHE}tvm.contrib",),
    "tvm.contrib.debugger": (),
    "tvm.contrib.debugger.debug_executor": (f"{_HERE}.runtime.graph_executor",),
    "tvm.contrib.debugger.debug_runtime": (f"{_HERE}.runtime.graph_executor",),
    "tvm.contrib.graph_executor": (f"{_HERE}.runtime.graph_executor",),
    "tvm.contrib.graph_runtime": (f"{_HERE}.runtime.graph_executor",),
    "tvm.contrib.cc": (f"{APACHE}tvm.support.cc",),
    "tvm.contrib.clang": (f"{APACHE}tvm.support.clang",),
    "tvm.contrib.nvcc": (f"{APACHE}tvm.support.nvcc",),
    "tvm.contrib.popen_pool": (f"{APACHE}tvm.support.popen_pool",),
    "tvm.contrib.tar": (f"{APACHE}tvm.support.tar",),
    "tvm.contrib.util": (f"{APACHE}tvm.support.utils",),
    "tvm.contrib.utils": (f"{APACHE}tvm.support.utils",),
    "tvm.runtime": (f"{_HERE}.runtime.runtime", f"{APACHE}tvm.runtime"),
    "tvm.runtime._ffi_api": (f"{_HERE}.runtime.codegens", f"{APACHE}tvm.runtime._ffi_api"),
    "tvm.runtime.container": (f"{_HERE}.ir.containers",),
    "tvm.runtime.executor": (f"{_HERE}.runtime.graph_executor",),
    "tvm.runtime.executor.aot_executor": (f"{_HERE}.runtime.graph_executor",),
    "tvm.runtime.ndarray": (f"{_HERE}.runtime.nd",),
    "tvm.runtime.vm": (f"{_HERE}.runtime.vm",),
}

WHOLE: dict[str, str] = {"tvm.testing.plugin": f"{_HERE}.testing.pytest_plugin"}
"""Modules that are used unchanged, because pytest inspects the module object."""

_NO_KERNELS = (
    "operators have no alternative kernels here: Relax lowers them, back ends compile regions"
)
_NO_DEVICES = (
    "all operators outside regions run on the CPU; AnnotateTarget assigns operators to compilers"
)
NO_GRADIENTS = (
    "byoc_lab compiles networks only for inference; train them in their original framework"
)
_NO_MEMORY = "memory is not part of Relay here; relay.build plans it for the whole module"

INSTEAD: dict[str, str] = {
    "tvm": "byoc_lab provides Relay, its passes and executors; apache-tvm provides the rest",
    "tvm.autotvm": "TVM removed tuning with Relay; byoc_lab.build compiles without it",
    "tvm.auto_scheduler": "TVM removed tuning with Relay; byoc_lab.build compiles without it",
    "tvm.meta_schedule": "apache-tvm has it as tvm.s_tir.meta_schedule, for Relax",
    "tvm.micro": "microTVM is not included; byoc_lab runs on this machine's CPU",
    "tvm.relay": "dir(byoc_lab.relay) lists the names of Relay that are supported",
    "tvm.relay.backend.contrib": "UMA is not included; byoc_lab.backends.register takes patterns, "
    "predicates and a code generator",
    "tvm.relay.collage": "use a pattern table with MergeComposite, AnnotateTarget, PartitionGraph",
    "tvm.relay.data_dep_optimization": "operators on sparse weights are not supported; "
    "simplify_fc_transpose is",
    "tvm.relay.frontend": "from_onnx and from_pytorch are supported; byoc_lab.compat.load_importer "
    "loads another importer of TVM from its file. Or import the network with its original TVM, "
    "save its text (mod.astext()) and parse that with relay.parse",
    "tvm.relay.op.contrib": "byoc_lab compiles for dnnl and partitions for arm_compute_lib, bnns, "
    "cublas, cudnn and cutlass; register your own pattern table with "
    "relay.op.contrib.register_pattern_table",
    "tvm.relay.op.OpStrategy": _NO_KERNELS,
    "tvm.relay.op.debug": "byoc_lab.run.reference.evaluate(mod, inputs, keep=True) has "
    "the values of all nodes",
    "tvm.relay.op.memory": _NO_MEMORY,
    "tvm.relay.op.register_strategy": _NO_KERNELS,
    "tvm.relay.op.strategy": _NO_KERNELS,
    "tvm.relay.quantize": "quantize before importing; byoc_lab reads qnn operators",
    "tvm.relay.transform": "dir(relay.transform) lists the supported passes",
    "tvm.relay.op.random": "draw random numbers with NumPy, and pass them as inputs or constants",
    "tvm.relay.random": "draw random numbers with NumPy, and pass them as inputs or constants",
    "tvm.relay.testing.check_grad": NO_GRADIENTS,
    "tvm.relay.transform.FirstOrderGradient": NO_GRADIENTS,
    "tvm.relay.transform.LazyGradientInit": NO_GRADIENTS,
    "tvm.relay.transform.gradient": NO_GRADIENTS,
    "tvm.relay.transform.PartialEvaluate": "FoldConstant evaluates constant subexpressions",
    "tvm.relay.transform.Defunctionalization": "higher-order functions run without this pass",
    "tvm.relay.transform.CollagePartition": "use a pattern table with MergeComposite, "
    "AnnotateTarget, PartitionGraph",
    "tvm.relay.transform.ManifestAlloc": _NO_MEMORY,
    "tvm.relay.transform.ManifestLifetimes": _NO_MEMORY,
    "tvm.relay.transform.MemoryPlan": _NO_MEMORY,
    "tvm.relay.transform.PlanDevices": _NO_DEVICES,
    "tvm.relay.transform.RewriteAnnotatedOps": _NO_DEVICES,
    "tvm.target.generic_func": _NO_KERNELS,
    "tvm.target.override_native_generic_func": _NO_KERNELS,
    "tvm.transform": "byoc_lab.passes holds the passes and their manager",
    "tvm.contrib.relay_viz": "byoc_lab.lab.view.graph(mod) draws a module",
    "tvm.contrib.pipeline_executor": "build the parts one by one with relay.build, and run them in "
    "turn with graph_executor.GraphModule",
    "tvm.contrib.pipeline_executor_build": "build the parts one by one with relay.build, and run "
    "them in turn with graph_executor.GraphModule",
    "tvm.driver": "build with relay.build, run with graph_executor.GraphModule",
    "tvm.driver.tvmc": "byoc-lab is the command line; in Python, relay.build and GraphModule",
    "tvm.target.datatype": "custom data types need a lowering of TIR, which apache-tvm no longer "
    "has; relay parses and types them (cast(dtype='custom[name]32')), but cannot compute them",
    "tvm.contrib": "byoc_lab runs modules with relay.build and GraphModule",
}
