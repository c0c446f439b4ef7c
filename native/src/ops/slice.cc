// Every `step`th element along one axis, `length` of them from `begin` on; a negative step goes back.
// Negative axes count from the end. (Several axes are several slices.) Copies the bits
// of elements, of any dtype.
#include <omp.h>

#include <cstring>

#include "../op.h"

namespace byoc_lab {
namespace {

constexpr int64_t kBytesOfAThread = 1 << 16;  // copying fewer is faster than waking a thread

struct Copier : OwnKernel {
  int64_t outer, length, from, begin, step;  // rows before the axis; elements along it
  size_t row;                                // bytes of one index along the axis
  int threads;

  void Run(const std::vector<void*>& operands) const final {
    const char* data = static_cast<const char*>(operands[0]);
    char* out = static_cast<char*>(operands.back());
    const bool together = step == 1;
    const int64_t runs = together ? 1 : length;
    const size_t bytes = together ? row * static_cast<size_t>(length) : row;
    const bool many = outer * runs * static_cast<int64_t>(bytes) > kBytesOfAThread;
#pragma omp parallel for collapse(2) num_threads(threads) if (many)
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < runs; ++i) {
        std::memcpy(out + static_cast<size_t>(o * length + i) * row,
                    data + static_cast<size_t>(o * from + begin + i * step) * row, bytes);
      }
    }
  }
};

Dims Infer(const OpCall& call) {
  const Operand& data = call.inputs[0];
  const size_t axis = Axis(call);
  const int64_t begin = call.attrs.Int("begin"), length = call.attrs.Int("length");
  const int64_t step = call.attrs.Int("step");
  const int64_t last = begin + (length - 1) * step;
  if (begin >= data.dims[axis] || last < 0 || last >= data.dims[axis]) {
    TVM_FFI_THROW(ValueError) << call.where << ": begin " << begin << ", length " << length
                              << ", step " << step << ": expected elements 0 to "
                              << data.dims[axis] - 1 << " of axis " << axis << ", found " << begin
                              << " to " << last;
  }
  Dims dims = data.dims;
  dims[axis] = length;
  return dims;
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  if (attr.get_post_ops().len() != 0) return std::nullopt;
  const Operand& data = call.inputs[0];
  const size_t axis = Axis(call);
  auto kernel = std::make_shared<Copier>();
  kernel->outer = 1;
  for (size_t i = 0; i < axis; ++i) kernel->outer *= data.dims[i];
  kernel->from = data.dims[axis];
  kernel->begin = call.attrs.Int("begin");
  kernel->length = call.attrs.Int("length");
  kernel->step = call.attrs.Int("step");
  kernel->row = static_cast<size_t>(Bytes(data) / (kernel->outer * kernel->from));
  kernel->threads = omp_get_max_threads();
  Built built;
  built.impl = "rows";
  built.inputs.push_back({0, Plain(data), Plain(data)});
  built.dst = Plain(dst, call.result);
  built.own = kernel;
  return built;
}

// One piece if all axes before the sliced one have size 1.
std::optional<int64_t> Part(const OpCall& call) {
  const Operand& data = call.inputs[0];
  const size_t axis = Axis(call);
  int64_t pieces = 1;
  for (size_t i = 0; i < axis; ++i) pieces *= data.dims[i];
  if (pieces != 1 || call.attrs.Int("step") != 1) return std::nullopt;
  return call.attrs.Int("begin") * (Bytes(data) / data.dims[axis]);
}

OpDef Slice() {
  OpDef def{"slice", {"data"}, 1, {""}, "",
            {{"axis", int64_t{0}, -kMaxSize},
             {"begin", int64_t{0}},
             {"length", int64_t{1}, 1, kMaxSize, /*required=*/true},
             {"step", int64_t{1}, -kMaxSize}},
            Infer, Make};
  def.holds = Holds::kAny;
  def.part = Part;
  return def;
}

const bool defined = DefineOp(Slice());

}  // namespace
}  // namespace byoc_lab
