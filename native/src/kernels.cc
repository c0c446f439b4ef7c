// Single kernels, for calling by hand: check the arguments, describe the operation, run it. Each is
// a graph of one op whose operands all come from the caller, so it goes through the very code a
// region goes through. The caller allocates `out`, the last argument. Operands and attributes are
// documented in ops/.
#include "plan.h"

namespace byoc_lab {
namespace {

using Argument = ffi::AnyView;  // attributes: checked, by name, where they are read

struct Named {
  std::string name;
  TensorView tensor;
};

PostOp Relu() {
  PostOp op;
  op.kind = PostOp::Kind::kEltwise;
  op.alg = "relu";
  return op;
}

void RunKernel(const std::string& kernel, const std::string& kind, const std::vector<Named>& inputs,
               const JsonObject& attrs, const std::vector<PostOp>& post_ops, TensorView out) {
  // 1. Check, without touching memory.
  const std::string where = "byoc_lab.dnnl." + kernel;
  const OpDef& def = FindOp(where, kind);
  GraphSpec graph;
  std::vector<Dims> shapes;
  for (const Named& input : inputs) {
    shapes.push_back(ShapeOf(where, input.name, input.tensor));
    graph.inputs.push_back(static_cast<int>(graph.tensors.size()));
    graph.tensors.push_back({input.name, shapes.back()});
  }
  const OpCall call = Bind(where, def, shapes, {}, attrs);
  const Operand result{"out", def.infer(call)};
  std::vector<float*> data;
  for (size_t i = 0; i < inputs.size(); ++i) {
    data.push_back(DataOf(where, inputs[i].name, inputs[i].tensor, shapes[i]));
  }
  float* out_data = DataOf(where, result.name, out, result.dims);
  for (size_t i = 0; i < inputs.size(); ++i) {
    CheckNoOverlap(where, result.name, out_data, Count(result.dims), inputs[i].name, data[i],
                   Count(shapes[i]));
  }
  // 2. Describe.
  const int output = static_cast<int>(graph.tensors.size());
  graph.symbol = kernel;
  graph.tensors.push_back(result);
  graph.outputs = {output};
  graph.ops.push_back({kernel, &def, call, graph.inputs, output, post_ops});
  // 3. Run.
  BuildPlan(graph, {})->Run(data, {out_data}, nullptr);
}

JsonObject ConvAttrs(Argument strides, Argument padding, Argument dilation, Argument groups) {
  return {{"strides", strides}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}};
}

void Conv2d(TensorView data, TensorView weight, Argument strides, Argument padding,
            Argument dilation, Argument groups, TensorView out) {
  RunKernel("conv2d", "conv2d", {{"data", data}, {"weight", weight}},
            ConvAttrs(strides, padding, dilation, groups), {}, out);
}

void Conv2dRelu(TensorView data, TensorView weight, Argument strides, Argument padding,
                Argument dilation, Argument groups, TensorView out) {
  RunKernel("conv2d_relu", "conv2d", {{"data", data}, {"weight", weight}},
            ConvAttrs(strides, padding, dilation, groups), {Relu()}, out);
}

void Conv2dBias(TensorView data, TensorView weight, TensorView bias, Argument strides,
                Argument padding, Argument dilation, Argument groups, TensorView out) {
  RunKernel("conv2d_bias", "conv2d", {{"data", data}, {"weight", weight}, {"bias", bias}},
            ConvAttrs(strides, padding, dilation, groups), {}, out);
}

void Conv2dBiasRelu(TensorView data, TensorView weight, TensorView bias, Argument strides,
                    Argument padding, Argument dilation, Argument groups, TensorView out) {
  RunKernel("conv2d_bias_relu", "conv2d", {{"data", data}, {"weight", weight}, {"bias", bias}},
            ConvAttrs(strides, padding, dilation, groups), {Relu()}, out);
}

void Dense(TensorView data, TensorView weight, TensorView out) {
  RunKernel("dense", "dense", {{"data", data}, {"weight", weight}}, {}, {}, out);
}

void DenseBias(TensorView data, TensorView weight, TensorView bias, TensorView out) {
  RunKernel("dense_bias", "dense", {{"data", data}, {"weight", weight}, {"bias", bias}}, {}, {},
            out);
}

void ReluKernel(TensorView data, TensorView out) {
  RunKernel("relu", "eltwise", {{"data", data}}, {{"alg", ffi::String("relu")}}, {}, out);
}

void Add(TensorView a, TensorView b, TensorView out) {
  RunKernel("add", "binary", {{"a", a}, {"b", b}}, {{"alg", ffi::String("add")}}, {}, out);
}

void Multiply(TensorView a, TensorView b, TensorView out) {
  RunKernel("multiply", "binary", {{"a", a}, {"b", b}}, {{"alg", ffi::String("mul")}}, {}, out);
}

void BatchNorm(TensorView data, TensorView gamma, TensorView beta, TensorView mean,
               TensorView variance, Argument epsilon, TensorView out) {
  RunKernel("batch_norm", "batch_norm",
            {{"data", data},
             {"gamma", gamma},
             {"beta", beta},
             {"mean", mean},
             {"variance", variance}},
            {{"epsilon", epsilon}}, {}, out);
}

void MaxPool2d(TensorView data, Argument pool_size, Argument strides, Argument padding,
               Argument dilation, TensorView out) {
  RunKernel("max_pool2d", "max_pool2d", {{"data", data}},
            {{"pool_size", pool_size},
             {"strides", strides},
             {"padding", padding},
             {"dilation", dilation}},
            {}, out);
}

void AvgPool2d(TensorView data, Argument pool_size, Argument strides, Argument padding,
               Argument dilation, Argument count_include_pad, TensorView out) {
  RunKernel("avg_pool2d", "avg_pool2d", {{"data", data}},
            {{"pool_size", pool_size},
             {"strides", strides},
             {"padding", padding},
             {"dilation", dilation},
             {"count_include_pad", count_include_pad}},
            {}, out);
}

void GlobalAvgPool2d(TensorView data, TensorView out) {
  RunKernel("global_avg_pool2d", "global_avg_pool2d", {{"data", data}}, {}, {}, out);
}

void Softmax(TensorView data, Argument axis, TensorView out) {
  RunKernel("softmax", "softmax", {{"data", data}}, {{"axis", axis}}, {}, out);
}

// Shape of the result of an op of a graph, from its kind, the shapes of its operands and its
// attributes. `where` opens the messages.
ffi::Array<int64_t> InferShape(const ffi::String& where, const ffi::String& kind,
                               const ffi::Array<ffi::Array<int64_t>>& inputs,
                               const JsonObject& attrs) {
  const OpDef& def = FindOp(where, kind);
  std::vector<Dims> shapes;
  for (const auto& shape : inputs) shapes.emplace_back(shape.begin(), shape.end());
  const Dims result = def.infer(Bind(where, def, shapes, {}, attrs));
  return ffi::Array<int64_t>(result.begin(), result.end());
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("byoc_lab.dnnl.conv2d", Conv2d)
      .def("byoc_lab.dnnl.conv2d_relu", Conv2dRelu)
      .def("byoc_lab.dnnl.conv2d_bias", Conv2dBias)
      .def("byoc_lab.dnnl.conv2d_bias_relu", Conv2dBiasRelu)
      .def("byoc_lab.dnnl.dense", Dense)
      .def("byoc_lab.dnnl.dense_bias", DenseBias)
      .def("byoc_lab.dnnl.relu", ReluKernel)
      .def("byoc_lab.dnnl.add", Add)
      .def("byoc_lab.dnnl.multiply", Multiply)
      .def("byoc_lab.dnnl.batch_norm", BatchNorm)
      .def("byoc_lab.dnnl.max_pool2d", MaxPool2d)
      .def("byoc_lab.dnnl.avg_pool2d", AvgPool2d)
      .def("byoc_lab.dnnl.global_avg_pool2d", GlobalAvgPool2d)
      .def("byoc_lab.dnnl.softmax", Softmax)
      .def("byoc_lab.dnnl.infer_shape", InferShape);
}

}  // namespace byoc_lab
