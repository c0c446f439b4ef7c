# From the TVM forum thread "[External codegen] How to prevent batch norm from being decomposed?",
# January 2020.
class ConvBNReluAnnotator(ExprMutator):

    def __init__(self, backend):
        super(ConvBNReluAnnotator, self).__init__()
        self.in_compiler = 0
        self.backend = backend

    def annotate_call(self, call):
        new_args = []
        for arg in call.args:
            new_arg = super().visit(arg)
            if call.op.name == "nn.conv2d" or isinstance(new_arg, relay.expr.Var):
                new_arg = compiler_begin(new_arg, self.backend)
            new_args.append(new_arg)
        return relay.Call(call.op, new_args, call.attrs, call.type_args)

    def visit_call(self, call):
        if call.op.name == "nn.conv2d":  # Annotate begin at args
            if self.in_compiler == 1:
                self.in_compiler = 2
                return self.annotate_call(call)
        elif call.op.name == "nn.batch_norm":
            if self.in_compiler == 1:
                return self.annotate_call(call)
        elif call.op.name == "nn.relu":  # Annotate end at output
            self.in_compiler = 1
            op = self.annotate_call(call)
            # if self.in_compiler == 2:
            op = compiler_end(op, self.backend)
            self.in_compiler = 0
            return op
        return super().visit_call(call)

def test_fuse():
    def get_layers(prefix, data, in_channel, out_channel):
        weight = relay.const(np.random.randn(out_channel, in_channel, 3, 3).astype(np.float32))
        bn_gamma = relay.const(np.random.randn(out_channel).astype(np.float32))
        bn_beta = relay.const(np.random.randn(out_channel).astype(np.float32))
        bn_mmean = relay.const(np.random.randn(out_channel).astype(np.float32))
        bn_mvar = relay.const(np.random.randn(out_channel).astype(np.float32))

        layer = relay.nn.conv2d(data=data, weight=weight,
                                kernel_size=(3,3), channels=out_channel, padding=(1, 1))
        layer = relay.nn.batch_norm(layer, bn_gamma, bn_beta, bn_mmean, bn_mvar)[0]
        layer = relay.nn.relu(layer)
        return layer

    data = relay.var("data", relay.TensorType((1, 3, 224, 224), "float32"))
    layer1 = get_layers("layer1_", data, 3, 16)
    layer2 = get_layers("layer2_", layer1, 16, 16)
    last = layer1
    net = relay.Function(relay.analysis.free_vars(last), last)

    ishape = (1, 3, 224, 224)
    mod, params = tvm.relay.testing.create_workload(net)
    mod["main"] = ConvBNReluAnnotator("dnnl").visit(mod["main"])
    mod = transform.PartitionGraph()(mod)
    # print(mod["main"].astext(show_meta_data=False))
    with relay.build_config(opt_level=3, disabled_pass=["AlterOpLayout"]):
        opt_mod, params = relay.build_module.optimize(mod, "llvm")
        print(opt_mod["main"].astext(show_meta_data=False))
