"""Runs under TVM's Python: records pipelines of TVM's passes with `tvm_recorder.py`.

    python oracle_record.py FOLDER NAME ...

reads FOLDER/NAME.relay, runs the pipeline of each name and writes FOLDER/NAME.jsonl. FOLDER
contains the recorder; "mobilenet" is TVM's own network.
"""

from __future__ import annotations

import sys
from typing import Any

import tvm
from tvm import relay
from tvm.relay import dataflow_pattern as df
from tvm.relay import transform as T
from tvm.relay.op.contrib import dnnl


def supported(_: Any) -> bool:
    return True


def fail(mod: Any, ctx: Any) -> Any:
    raise RuntimeError("the pass aborts")


def call_table() -> list[Any]:
    calls = [
        df.wildcard()(*[df.wildcard() for _ in range(n)]).has_attr({"match_key": "my_library"})
        for n in (2, 3)
    ]
    return [("match_key.call", calls[0] | calls[1])]


def pipelines() -> dict[str, list[Any]]:
    cut = [T.MergeCompilerRegions(), T.PartitionGraph()]
    fold = [T.SimplifyInference(), T.FoldConstant(), T.FoldScaleAxis(), T.FoldConstant()]
    dnnl_flow = [T.MergeComposite(dnnl.pattern_table()), T.AnnotateTarget("dnnl"), *cut]
    aborts = tvm.transform.module_pass(fail, opt_level=0, name="Aborts")
    return {
        "nested-partition": [T.InferType(), T.PartitionGraph()],  # annotated by hand
        "batch-norm": [T.InferType(), *fold, *dnnl_flow],
        "let-bound-calls": [
            T.InferType(), T.MergeComposite(call_table()), T.AnnotateTarget("match_key"), *cut,
        ],
        "fused-ops": [T.InferType(), *dnnl_flow],
        "aborts": [T.InferType(), T.AnnotateTarget("dnnl"), aborts, T.PartitionGraph()],
        "mobilenet": [
            T.CanonicalizeOps(), T.InferType(), *fold, *dnnl_flow, aborts,
        ],
    }  # fmt: skip


def module(folder: str, name: str) -> Any:
    if name == "mobilenet":
        from tvm.relay.testing import mobilenet

        mod, params = mobilenet.get_workload()
        mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
        return mod
    with open(f"{folder}/{name}.relay", encoding="utf-8") as file:
        return tvm.relay.fromtext(file.read())


def record(sequence: Any, mod: Any, recorder: Any) -> None:
    with recorder, tvm.transform.PassContext(opt_level=3, **recorder.options()):
        sequence(mod)


def main() -> None:
    folder, *names = sys.argv[1:]
    sys.path.insert(0, folder)
    import tvm_recorder

    for name in names:
        mod = module(folder, name)
        sequence = tvm.transform.Sequential(pipelines()[name])
        try:
            record(sequence, mod, tvm_recorder.Recorder(f"{folder}/{name}.jsonl"))
        except Exception as error:  # the recording contains the error
            print(f"{name}: {type(error).__name__}")


if __name__ == "__main__":
    main()
