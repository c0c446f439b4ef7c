#include "one_row.h"

#include <algorithm>

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

struct OneRowKernel : OwnKernel {
  int64_t depth, width, panels, threads;
  bool biased, backwards;

  // Operands: data, weight, bias if there is one, result.
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
    auto* dst = static_cast<float*>(operands[biased ? 3 : 2]);
    const int64_t packed_depth = (depth + kDepth - 1) / kDepth * kDepth;
    for (int64_t i = first; i < end; ++i) {
      const int64_t panel = backwards ? first + end - 1 - i : i;
      Lanes sums[kVectors];
      MultiplyPanel(row, weight + panel * packed_depth * kColumns, depth, sums);
      const auto* found = reinterpret_cast<const float*>(sums);
      const int64_t begin = panel * kColumns, count = std::min(kColumns, width - begin);
      for (int64_t n = 0; n < count; ++n) {
        dst[begin + n] = bias == nullptr ? found[n] : found[n] + bias[begin + n];
      }
    }
  }
};

}  // namespace

std::optional<Built> MakeOneRow(const OpCall& call, const Dims& dst) {
  if (dst[0] != 1 || dst[1] < kLeast || call.result != DType::f32 || !call.constant_weight ||
      !onednn_faults::Uses(dnnl::cpu_isa::avx2)) {
    return std::nullopt;
  }
  auto kernel = std::make_shared<OneRowKernel>();
  kernel->depth = call.inputs[0].dims[1];
  kernel->width = dst[1];
  kernel->panels = (kernel->width + kColumns - 1) / kColumns;
  kernel->threads = ThreadsFor(kernel->depth * kernel->width / 8, kernel->panels);
  kernel->backwards = call.backwards;
  kernel->biased = call.inputs.size() == 3;
  Built built;
  built.impl = "row";
  built.own = kernel;
  const MemoryDesc packed(call.inputs[1].dims, DType::f32, Tag::AB16b64a);
  const std::vector<MemoryDesc> descs = {Plain(call.inputs[0]), packed, Plain({dst[1]})};
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    built.inputs.push_back({static_cast<int>(i), descs[i], descs[i]});
  }
  built.dst = Plain(dst);
  return built;
}

}  // namespace byoc_lab
