# The last snippet of the same thread: fold before partitioning.
seq = transform.Sequential([
    relay.transform.InferType(),
    relay.transform.SimplifyInference(),
    relay.transform.FoldConstant(),
    relay.transform.FoldScaleAxis(),
])

with relay.build_config(opt_level=3, disabled_pass=["AlterOpLayout"]):
    mod = seq(mod)
    mod["main"] = ConvBNReluAnnotator("dnnl").visit(mod["main"])
    mod = transform.PartitionGraph()(mod)
    opt_mod, params = relay.build_module.optimize(mod, "llvm")
    print(opt_mod["main"].astext(show_meta_data=False))
