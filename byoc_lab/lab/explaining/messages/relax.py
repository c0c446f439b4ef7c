"""Messages of Relax, today's language of TVM."""

from __future__ import annotations

from byoc_lab.lab.explaining.messages.record import Message

MESSAGES = (
    Message(
        "relax-merge-call-tir",
        ("MergeCompositeFunctions",),
        r"MergeCompositeFunctions[\s\S]{0,4000}?(?:Segmentation fault|Segfault|SIGSEGV)",
        "Relax in TVM 0.12 to 0.17",
        "MergeCompositeFunctions crashed. It did so where a module calls a kernel with R.call_tir, "
        "or has another argument for which it keeps no group",
        "Run MergeCompositeFunctions before LegalizeOps, or use a newer TVM",
        ("mod = relax.transform.MergeCompositeFunctions()(mod)\nSegmentation fault (core dumped)",),
        lesson="relax-call-tir",
    ),
    Message(
        "relax-no-codegen",
        ("Codegen is not found",),
        r"Codegen is not found: relax\.ext\.(?P<compiler>[\w.\-]+)",
        "Relax in TVM 0.27",
        'A function has Codegen="{compiler}", and no code generator is registered for it',
        "Import the package that registers relax.ext.{compiler}, or register that function with "
        "tvm_ffi.register_global_func before RunCodegen",
        (
            "InternalError: Check failed: (codegen.has_value()) is false: Codegen is not found: "
            "relax.ext.mychip",
        ),
        rules=("BYR002",),
    ),
    Message(
        "relax-tir-vars",
        ("unexpected keyword argument 'tir_vars'",),
        r"call_tir\w*\(\) got an unexpected keyword argument 'tir_vars'",
        "Relax in TVM 0.27",
        "call_tir has no argument tir_vars any more",
        "Pass the values in args, after the tensors",
        ("TypeError: call_tir() got an unexpected keyword argument 'tir_vars'",),
        lesson="relax-tir-vars",
    ),
)  # fmt: skip
