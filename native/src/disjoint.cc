#include "disjoint.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

#include "threads.h"
#include "vectorized.h"

namespace byoc_lab {
namespace {

// Bytes for the product of a band: with its data they fit a core's second-level cache.
constexpr int64_t kProductBytes = 512 << 10;
constexpr int64_t kMostChannels = 128;  // with more, oneDNN's kernels are as fast

// dst[x * taps + i] = rows[i * step + x]
VECTORIZED void Interleave(const float* rows, int64_t step, int64_t taps, int64_t count,
                           float* dst) {
  if (taps == 2) {
#pragma omp simd
    for (int64_t x = 0; x < count; ++x) {
      dst[2 * x] = rows[x];
      dst[2 * x + 1] = rows[step + x];
    }
    return;
  }
  for (int64_t i = 0; i < taps; ++i) {
    for (int64_t x = 0; x < count; ++x) dst[x * taps + i] = rows[i * step + x];
  }
}

struct DisjointKernel : OwnKernel {
  dnnl::matmul::primitive_desc desc;
  dnnl::matmul product;
  int64_t samples, channels, outputs;
  Dims size, taps;  // depth, height and width
  int64_t band_rows, bands, threads, memory_bytes;  // memory_bytes: scratch memory per thread

  int64_t rows() const { return size[0] * size[1]; }

  // Operands: data, weight, result, memory for each thread.
  void Run(const std::vector<void*>& operands) const final {
    std::atomic<bool> failed{false};
#pragma omp parallel for num_threads(static_cast<int>(threads)) if (threads > 1)
    for (int64_t band = 0; band < samples * bands; ++band) {
      if (!RunBand(operands, band / bands, band % bands)) failed = true;
    }
    TVM_FFI_CHECK(!failed, RuntimeError) << "could not execute a primitive";
  }

  // The last band has as many rows as the others, so it overlaps the previous one, and writes the
  // rows that no other band has.
  bool RunBand(const std::vector<void*>& operands, int64_t sample, int64_t band) const {
    const int64_t first = band * band_rows, start = std::min(first, rows() - band_rows);
    auto* data = static_cast<float*>(operands[0]) + (sample * channels * rows() + start) * size[2];
    char* memory = static_cast<char*>(operands[3]) + omp_get_thread_num() * memory_bytes;
    auto* sums = reinterpret_cast<float*>(memory + desc.scratchpad_desc().get_size());
    const dnnl::stream stream(Cpu());
    const dnnl::memory left(desc.src_desc(), Cpu(), operands[1]);
    const dnnl::memory right(desc.weights_desc(), Cpu(), data);
    const dnnl::memory result(desc.dst_desc(), Cpu(), sums);
    const dnnl::memory scratch(desc.scratchpad_desc(), Cpu(), memory);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, left.get()},
                                    {DNNL_ARG_WEIGHTS, right.get()},
                                    {DNNL_ARG_DST, result.get()},
                                    {DNNL_ARG_SCRATCHPAD, scratch.get()}};
    if (dnnl_primitive_execute(product.get(), stream.get(), 4, args) != dnnl_success) return false;
    const int64_t blocks = outputs * taps[0] * taps[1], step = band_rows * size[2];
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t across = block % taps[1], above = block / taps[1] % taps[0];
      const int64_t plane = (sample * outputs + block / (taps[0] * taps[1])) * size[0] * taps[0];
      for (int64_t row = first; row < start + band_rows; ++row) {
        const int64_t deep = plane + row / size[1] * taps[0] + above;
        const int64_t at = (deep * size[1] + row % size[1]) * taps[1] + across;
        Interleave(sums + block * taps[2] * step + (row - start) * size[2], step, taps[2], size[2],
                   static_cast<float*>(operands[2]) + at * size[2] * taps[2]);
      }
    }
    return true;
  }
};

// The sizes along depth, height and width: 1 along those that `dims` lacks.
Dims Spatial(const Dims& dims) { return PadRank(Dims(dims.begin() + 2, dims.end()), 3); }

}  // namespace

std::optional<Built> MakeDisjoint(const OpCall& call, const Dims& dst) {
  const Operand &data = call.inputs[0], &weight = call.inputs[1];
  const Window window(call);
  const Dims taps(weight.dims.begin() + 2, weight.dims.end());
  if (data.dtype != DType::f32 || data.dims[1] > kMostChannels || call.attrs.Int("groups") != 1 ||
      Count(taps) == 1 || taps != window.strides || !IsAll(window.gaps, 0) ||
      !IsAll(window.before, 0) || !IsAll(window.after, 0) || !IsAll(call.attrs.Ints("output_padding"), 0)) {
    return std::nullopt;
  }
  auto kernel = std::make_shared<DisjointKernel>();
  kernel->samples = data.dims[0];
  kernel->channels = data.dims[1];
  kernel->outputs = weight.dims[0];
  kernel->size = Spatial(data.dims);
  kernel->taps = Spatial(weight.dims);
  const int64_t rows = kernel->rows(), width = kernel->size[2];
  const int64_t lines = kernel->outputs * Count(taps), line_bytes = width * Size(DType::f32);
  kernel->threads = ThreadsFor(Count(data.dims) * lines / 8, kernel->samples * rows);
  // Enough bands for the threads and the cache, with equal numbers of rows.
  const int64_t wanted = std::max((rows * lines * line_bytes - 1) / kProductBytes + 1,
                                  (kernel->threads - 1) / kernel->samples + 1);
  kernel->band_rows = (rows - 1) / std::min(wanted, rows) + 1;
  kernel->bands = (rows - 1) / kernel->band_rows + 1;
  {
    const WithThreads alone(1);
    const int64_t pixels = kernel->band_rows * width;
    kernel->desc = dnnl::matmul::primitive_desc(
        Cpu(), Plain({lines, kernel->channels}),
        MemoryDesc({kernel->channels, pixels}, DType::f32, Dims{rows * width, 1}),
        Plain({lines, pixels}), FusedAttr({}, 0, {lines, pixels}), /*allow_empty=*/true);
    if (!kernel->desc || IsReference(kernel->desc.impl_info_str())) return std::nullopt;
    kernel->product = dnnl::matmul(kernel->desc);
  }
  const int64_t bytes = static_cast<int64_t>(kernel->desc.scratchpad_desc().get_size()) +
                        lines * kernel->band_rows * line_bytes;
  kernel->memory_bytes = (bytes + 63) / 64 * 64;
  Built built;
  built.impl = "blocks";
  built.own = kernel;
  // The rows of the product: all taps of the first output, then those of the next.
  const MemoryDesc packed = ChannelsLast(weight.dims, DType::f32);
  built.inputs = {{DNNL_ARG_SRC, Plain(data), Plain(data)}, {DNNL_ARG_WEIGHTS, packed, packed}};
  built.dst = Plain(dst);
  built.scratchpad = Plain({kernel->threads * kernel->memory_bytes}, DType::u8);
  return built;
}

}  // namespace byoc_lab
