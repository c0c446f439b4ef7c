// dst = a * b + bias over the last two dimensions: a (..., M, K), b (..., K, N), bias N elements,
// dst (..., M, N); the dimensions in front broadcast as NumPy's do. transpose_a and transpose_b
// say that a is (..., K, M), b is (..., N, K).
#include <algorithm>

#include "../integer/products.h"

namespace byoc_lab {
namespace {

// The operand with its last two dimensions in the order of the formula.
Dims Oriented(const OpCall& call, size_t operand) {
  Dims dims = call.inputs[operand].dims;
  if (call.attrs.Flag(operand == 0 ? "transpose_a" : "transpose_b")) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  }
  return dims;
}

Dims Infer(const OpCall& call) {
  for (size_t i = 0; i < 2; ++i) {
    const Operand& operand = call.inputs[i];
    if (operand.dims.size() >= 2) continue;
    TVM_FFI_THROW(ValueError) << call.where << ": " << operand.name << ": expected at least 2 "
                              << "dimensions, found shape " << Text(operand.dims);
  }
  Dims a = Oriented(call, 0), b = Oriented(call, 1);
  const int64_t rows = a[a.size() - 2], columns = b.back(), depth = a.back();
  if (b[b.size() - 2] != depth) {
    TVM_FFI_THROW(ValueError) << call.where << ": " << call.inputs[1].name << ": expected "
                              << depth << " rows, the number of columns of "
                              << call.inputs[0].name << ", found shape "
                              << Text(call.inputs[1].dims);
  }
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  Dims dst = Broadcast(call.where, {"batch of " + call.inputs[0].name, a},
                       {"batch of " + call.inputs[1].name, b});
  dst.insert(dst.end(), {rows, columns});
  if (call.inputs.size() == 3) CheckBias(call.where, call.inputs[2], columns);
  CheckDims(call.where, {"result", dst});
  return dst;
}

MemoryDesc Stored(const OpCall& call, size_t operand, size_t rank) {
  return Plain(PadRank(call.inputs[operand].dims, rank), call.inputs[operand].dtype);
}

// The stored operand, with its last two dimensions read in the order of the formula.
MemoryDesc Seen(const OpCall& call, size_t operand, size_t rank) {
  const MemoryDesc plain = Stored(call, operand, rank);
  if (!call.attrs.Flag(operand == 0 ? "transpose_a" : "transpose_b")) return plain;
  std::vector<int> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = static_cast<int>(i);
  std::swap(axes[rank - 1], axes[rank - 2]);
  return plain.permute_axes(axes);
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  if (IsInteger(call.result) && !onednn_faults::ProductsAreExact()) return MakeIntegerMatmul(call, dst);
  const size_t rank = dst.size();
  const bool biased = call.inputs.size() == 3;
  std::vector<int> args = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  if (biased) args.push_back(DNNL_ARG_BIAS);
  auto built = Finish(
      dnnl::matmul::primitive_desc(
          Cpu(), Seen(call, 0, rank), Seen(call, 1, rank),
          biased ? Plain(PadRank({dst.back()}, rank), call.inputs[2].dtype) : MemoryDesc(),
          Plain(dst, call.result), attr,
          /*allow_empty=*/true),
      args);
  for (size_t i = 0; built && i < 2; ++i) built->inputs[i].stored = Stored(call, i, rank);
  return built;
}

const bool defined = DefineOp({"matmul",
                               {"a", "b", "bias"},
                               2,
                               {"", "", "x"},
                               "",
                               {{"transpose_a", false}, {"transpose_b", false}},
                               Infer,
                               Make,
                               /*fuses_sum=*/true,
                               /*variadic=*/false,
                               /*reshapes=*/true,
                               Holds::kProduct});

}  // namespace
}  // namespace byoc_lab
