#include "one_row.h"

#include <algorithm>

#include "functions.h"
#include "threads.h"

namespace byoc_lab {
namespace {

constexpr int64_t kColumns = 64;  // adjacent outputs in the packed weight: as many as sums fit registers
constexpr int64_t kDepth = 16;  // the packed depth is a multiple of it, as in oneDNN's layouts
constexpr int64_t kLeast = 32;  // for fewer outputs, most of a panel would be padding
typedef float Lanes __attribute__((vector_size(32)));
constexpr int64_t kVectors = kColumns / 8;

// sums[i] = the product of `row` and column i of a panel.
__attribute__((target("avx2,fma"))) void MultiplyPanel(const float* row, const float* panel,
                                                       int64_t depth, Lanes* sums) {
  Lanes acc[kVectors] = {};
  const auto* columns = reinterpret_cast<const Lanes*>(panel);
  for (int64_t k = 0; k < depth; ++k, columns += kVectors) {
    for (int64_t i = 0; i < kVectors; ++i) acc[i] += row[k] * columns[i];
  }
  for (int64_t i = 0; i < kVectors; ++i) sums[i] = acc[i];
}

// A fused post-op. operand: of a binary one, its position among the kernel's operands; 0 for others.
struct RowPostOp {
  dnnl::algorithm alg = dnnl::algorithm::undef;  // undef: a sum
  float alpha = 0, beta = 0, scale = 1;
  size_t operand = 0;
  bool one_number = false;  // whether the operand is one number for all columns
};

// values[i] = the post-op applied to it; `other` is the part of the operand for these columns.
__attribute__((target("avx2,fma"))) void Apply(const RowPostOp& post_op, const float* other,
                                               int64_t count, float* values) {
  using dnnl::algorithm;
  const bool one = post_op.one_number;
  const float alpha = post_op.alpha, beta = post_op.beta;
  switch (post_op.alg) {
    case algorithm::binary_add:
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) values[i] += other[one ? 0 : i];
      return;
    case algorithm::binary_mul:
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) values[i] *= other[one ? 0 : i];
      return;
    case algorithm::eltwise_tanh:
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) values[i] = Tanh(values[i]);
      return;
    case algorithm::eltwise_logistic:
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) values[i] = Sigmoid(values[i]);
      return;
    case algorithm::eltwise_linear:
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) values[i] = alpha * values[i] + beta;
      return;
    default:  // `other` is the previous content of the result
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) values[i] += post_op.scale * other[i];
  }
}

struct OneRowKernel : OwnKernel {
  int64_t depth, width, panels, threads;
  bool biased, backwards;
  std::vector<RowPostOp> post_ops;

  // Operands: data, weight, bias if there is one, operands of binary post-ops, result.
  void Run(const std::vector<void*>& operands) const final {
    if (threads == 1) return RunPanels(operands, 0, panels);
#pragma omp parallel for num_threads(static_cast<int>(threads))
    for (int64_t part = 0; part < threads; ++part) {
      RunPanels(operands, panels * part / threads, panels * (part + 1) / threads);
    }
  }

  void RunPanels(const std::vector<void*>& operands, int64_t first, int64_t end) const {
    const auto* row = static_cast<const float*>(operands[0]);
    const auto* weight = static_cast<const float*>(operands[1]);
    const auto* bias = biased ? static_cast<const float*>(operands[2]) : nullptr;
    auto* dst = static_cast<float*>(operands.back());
    const int64_t packed_depth = (depth + kDepth - 1) / kDepth * kDepth;
    for (int64_t i = first; i < end; ++i) {
      const int64_t panel = backwards ? first + end - 1 - i : i;
      Lanes sums[kVectors];
      MultiplyPanel(row, weight + panel * packed_depth * kColumns, depth, sums);
      auto* found = reinterpret_cast<float*>(sums);
      const int64_t begin = panel * kColumns, count = std::min(kColumns, width - begin);
      for (int64_t n = 0; bias != nullptr && n < count; ++n) found[n] += bias[begin + n];
      for (const RowPostOp& post_op : post_ops) {
        const auto* other = post_op.operand == 0
                                ? dst
                                : static_cast<const float*>(operands[post_op.operand]);
        Apply(post_op, post_op.one_number ? other : other + begin, count, found);
      }
      std::copy(found, found + count, dst + begin);
    }
  }
};

// The post-ops of `attr`, whose binary operands follow `operands` others; none if this kernel lacks
// one of them.
std::optional<std::vector<RowPostOp>> ReadPostOps(const dnnl::primitive_attr& attr, const Dims& dst,
                                                  size_t operands) {
  using dnnl::algorithm;
  const dnnl::post_ops fused = attr.get_post_ops();
  std::vector<RowPostOp> found;
  for (int i = 0; i < fused.len(); ++i) {
    RowPostOp post_op;
    if (fused.kind(i) == dnnl::primitive::kind::sum) {
      fused.get_params_sum(i, post_op.scale);
    } else if (fused.kind(i) == dnnl::primitive::kind::binary) {
      MemoryDesc other;
      fused.get_params_binary(i, post_op.alg, other);
      post_op.one_number = Count(other.get_dims()) == 1;
      const bool known =
          post_op.alg == algorithm::binary_add || post_op.alg == algorithm::binary_mul;
      if (!known || (!post_op.one_number && other.get_dims() != dst)) return std::nullopt;
      post_op.operand = operands++;
    } else {
      fused.get_params_eltwise(i, post_op.alg, post_op.alpha, post_op.beta);
      const bool known = post_op.alg == algorithm::eltwise_tanh ||
                         post_op.alg == algorithm::eltwise_logistic ||
                         post_op.alg == algorithm::eltwise_linear;
      if (!known) return std::nullopt;
    }
    found.push_back(post_op);
  }
  return found;
}

}  // namespace

std::optional<Built> MakeOneRow(const OpCall& call, const Dims& dst,
                                const dnnl::primitive_attr& attr) {
  const bool floats = std::all_of(call.inputs.begin(), call.inputs.end(),
                                  [](const Operand& input) { return input.dtype == DType::f32; });
  if (dst[0] != 1 || dst[1] < kLeast || !floats || call.result != DType::f32 ||
      !call.constant_weight || !onednn_faults::Uses(dnnl::cpu_isa::avx2)) {
    return std::nullopt;
  }
  const auto post_ops = ReadPostOps(attr, dst, call.inputs.size());
  if (!post_ops) return std::nullopt;
  auto kernel = std::make_shared<OneRowKernel>();
  kernel->depth = call.inputs[0].dims[1];
  kernel->width = dst[1];
  kernel->panels = (kernel->width + kColumns - 1) / kColumns;
  kernel->threads = ThreadsFor(kernel->depth * kernel->width / 8, kernel->panels);
  kernel->backwards = call.backwards;
  kernel->biased = call.inputs.size() == 3;
  kernel->post_ops = *post_ops;
  Built built;
  built.impl = "row";
  built.own = kernel;
  const MemoryDesc packed(call.inputs[1].dims, DType::f32, Tag::AB16b64a);
  const std::vector<MemoryDesc> descs = {Plain(call.inputs[0]), packed, Plain({dst[1]})};
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    built.inputs.push_back({static_cast<int>(i), descs[i], descs[i]});
  }
  for (int i = 0; i < static_cast<int>(post_ops->size()); ++i) {
    const RowPostOp& post_op = (*post_ops)[i];
    if (post_op.operand == 0) continue;
    const MemoryDesc desc = Plain(post_op.one_number ? Dims{1, 1} : dst);
    built.post_op_inputs.push_back(
        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1, desc, desc});
  }
  built.dst = Plain(dst);
  return built;
}

}  // namespace byoc_lab
