// One step of an LSTM after its matrix products: from the gates (N, 4H) and the previous cell (N, H),
// computes the new state and the new cell, concatenated to (N, 2H):
//   cell = sigmoid(forget) * before + sigmoid(input) * tanh(new);  state = sigmoid(output) * tanh(cell)
// `order` has the positions of input, output, forget and new among the quarters of the gates.
#include <algorithm>

#include "../functions.h"
#include "../op.h"
#include "../threads.h"
#include "../vectorized.h"
#include "../widths.h"

namespace byoc_lab {
namespace {

template <typename T>
inline __attribute__((always_inline)) void Step(const T* const* gates, const T* before, int64_t width, T* state, T* cell) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) {
    const float kept = Sigmoid(Real(gates[2][i])) * Real(before[i]);
    const float after = kept + Sigmoid(Real(gates[0][i])) * Tanh(Real(gates[3][i]));
    Put(Sigmoid(Real(gates[1][i])) * Tanh(after), &state[i]);
    Put(after, &cell[i]);
  }
}

VECTORIZED void StepRow(const float* const* gates, const float* before, int64_t width, float* state,
                        float* cell) {
  Step(gates, before, width, state, cell);
}

VECTORIZED void StepRow(const uint16_t* const* gates, const uint16_t* before, int64_t width,
                        uint16_t* state, uint16_t* cell) {
  Step(gates, before, width, state, cell);
}

struct CellKernel : OwnKernel {
  int64_t rows, width, threads;
  Dims order;
  bool narrow;

  void Run(const std::vector<void*>& operands) const final {
    if (threads == 1) return RunRows(operands, 0, rows);
#pragma omp parallel for num_threads(static_cast<int>(threads))
    for (int64_t part = 0; part < threads; ++part) {
      RunRows(operands, rows * part / threads, rows * (part + 1) / threads);
    }
  }

  void RunRows(const std::vector<void*>& operands, int64_t first, int64_t end) const {
    for (int64_t row = first; row < end; ++row) {
      narrow ? RunRow<uint16_t>(operands, row) : RunRow<float>(operands, row);
    }
  }

  template <typename T>
  void RunRow(const std::vector<void*>& operands, int64_t row) const {
    const T* all = static_cast<const T*>(operands[0]) + row * 4 * width;
    const T* gates[4];
    for (size_t i = 0; i < 4; ++i) gates[i] = all + order[i] * width;
    T* state = static_cast<T*>(operands[2]) + row * 2 * width;
    StepRow(gates, static_cast<const T*>(operands[1]) + row * width, width, state, state + width);
  }
};

Dims Infer(const OpCall& call) {
  const Operand &gates = call.inputs[0], &cell = call.inputs[1];
  CheckRank(call.where, gates, {"batch", "gates"});
  CheckRank(call.where, cell, {"batch", "width"});
  CheckShape(call.where, gates, {cell.dims[0], 4 * cell.dims[1]},
             "four times the width of " + cell.name);
  Dims sorted = call.attrs.Ints("order");
  std::sort(sorted.begin(), sorted.end());
  if (sorted != Dims{0, 1, 2, 3}) {
    TVM_FFI_THROW(ValueError) << call.where << ": order: expected an order of 0 to 3, found "
                              << Text(call.attrs.Ints("order"));
  }
  return {cell.dims[0], 2 * cell.dims[1]};
}

std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  if (attr.get_post_ops().len() != 0) return std::nullopt;
  auto kernel = std::make_shared<CellKernel>();
  kernel->rows = dst[0];
  kernel->width = dst[1] / 2;
  kernel->threads = ThreadsFor(20 * Count(dst), kernel->rows);  // exp is much work per element
  kernel->order = call.attrs.Ints("order");
  kernel->narrow = call.result == DType::bf16;
  Built built;
  built.impl = "rows";
  for (int i = 0; i < 2; ++i) {
    const MemoryDesc desc = Plain(call.inputs[i].dims, call.result);
    built.inputs.push_back({i, desc, desc});
  }
  built.dst = Plain(dst, call.result);
  built.own = kernel;
  return built;
}

const bool defined = DefineOp({"lstm_cell",
                               {"gates", "cell"},
                               2,
                               {"nc", "nc"},
                               "nc",
                               {{"order", Dims{0, 1, 2, 3}, 0, 3}},
                               Infer,
                               Make});

}  // namespace
}  // namespace byoc_lab
