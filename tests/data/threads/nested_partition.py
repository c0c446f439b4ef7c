# From the TVM forum thread "[External codegen] A possible bug in partitioning", January 2020.
out_channels = 16
batch_size = 1

def get_layers(prefix, data):
    weight = relay.var(prefix+"weight")
    bn_gamma = relay.var(prefix+"bn_gamma")
    bn_beta = relay.var(prefix+"bn_beta")
    bn_mmean = relay.var(prefix+"bn_mean")
    bn_mvar = relay.var(prefix+"bn_var")

    layer = relay.nn.conv2d(data=data, weight=weight,
                                 kernel_size=(3,3), channels=out_channels, padding=(1, 1))
    layer = relay.nn.batch_norm(layer, bn_gamma, bn_beta, bn_mmean, bn_mvar)[0]
    layer = relay.nn.relu(layer)
    return layer

data = relay.var("data", relay.TensorType((batch_size, 3, 224, 224), "float32"))
layer1 = get_layers("layer1_", data)
layer2 = get_layers("layer2_", layer1)
layer3 = get_layers("layer3_", layer2)
last = layer1
# layer4 = get_layers("layer1_2_", data)
# last = relay.concatenate((layer1, layer4), axis=1)
net = relay.Function(relay.analysis.free_vars(last), last)

class ConvBNReluAnnotator(ExprMutator):

    def __init__(self, backend):
        super(ConvBNReluAnnotator, self).__init__()
        self.in_compiler = 0
        self.backend = backend

    def annotate_call(self, call):
        new_args = []
        for arg in call.args:
            new_arg = super().visit(arg)
            if isinstance(new_arg, relay.expr.Var):
                new_arg = compiler_begin(new_arg, self.backend)
            new_args.append(new_arg)
        return relay.Call(call.op, new_args, call.attrs, call.type_args)

    def visit_call(self, call):
        if call.op.name == "nn.conv2d":
            if self.in_compiler == 1:
                self.in_compiler = 2
                return self.annotate_call(call)
        elif call.op.name == "nn.batch_norm":
            if self.in_compiler == 1:
                return self.annotate_call(call)
        elif call.op.name == "nn.relu":
            self.in_compiler = 1
            op = self.annotate_call(call)
            op = compiler_end(op, self.backend)
            self.in_compiler = 0
            return op
        return super().visit_call(call)
