#include "banded.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <set>
#include <string>

#include "threads.h"
#include "windows.h"

namespace byoc_lab {
namespace {

// Bytes for a band's sums: with its data and the weights they fit a core's second-level cache.
constexpr int64_t kBandBytes = 512 << 10;

// `channels` numbers per row, with as many axes as an image has: the form in which a 1x1
// convolution reads an image with channels last.
Dims Rows(int64_t rows, int64_t channels, size_t rank) {
  Dims dims(rank, 1);
  dims[1] = channels;
  dims.back() = rows;
  return dims;
}

// Bytes up to the end of a cache line.
int64_t Lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// The work of one thread: the product over a band, then its rescaling. In the last band, only the
// rows that are in no other band are rescaled.
class Worker {
 public:
  Worker(const Built& product, std::shared_ptr<const OwnKernel> full,
         std::shared_ptr<const OwnKernel> last)
      : primitive_(product.primitive),
        full_(std::move(full)),
        last_(std::move(last)),
        stream_(Cpu()),
        data_(product.inputs[0].desc, Cpu(), nullptr),
        weights_(product.inputs[1].desc, Cpu(), nullptr),
        sums_(product.dst, Cpu(), nullptr),
        scratch_(product.scratchpad, Cpu(), nullptr),
        args_{{DNNL_ARG_SRC, data_.get()},
              {DNNL_ARG_WEIGHTS, weights_.get()},
              {DNNL_ARG_DST, sums_.get()},
              {DNNL_ARG_SCRATCHPAD, scratch_.get()}} {
    for (const auto& [arg, number] : product.numbers) {
      numbers_.push_back(number);
      number_memories_.emplace_back(Plain({1}, DType::s32), Cpu(), nullptr);
      args_.push_back({arg, number_memories_.back().get()});
    }
    for (size_t i = 0; i < numbers_.size(); ++i) number_memories_[i].set_data_handle(&numbers_[i]);
  }

  void Multiply(void* data, void* weights, void* sums, void* scratch) {
    data_.set_data_handle(data);
    weights_.set_data_handle(weights);
    sums_.set_data_handle(sums);
    scratch_.set_data_handle(scratch);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(args_.size()),
                               args_.data()),
        "could not execute a primitive");
  }

  void Rescale(bool last, const std::vector<void*>& operands) const {
    (last ? last_ : full_)->Run(operands);
  }

 private:
  dnnl::primitive primitive_;
  std::shared_ptr<const OwnKernel> full_, last_;
  dnnl::stream stream_;
  dnnl::memory data_, weights_, sums_, scratch_;
  std::vector<int32_t> numbers_;
  std::vector<dnnl::memory> number_memories_;
  std::vector<dnnl_exec_arg_t> args_;
};

class BandedKernel : public OwnKernel {
 public:
  // Bytes of a row of data, sums and result, and of a thread's sums and scratch memory.
  int64_t rows, bands, all, data_bytes, sum_bytes, out_bytes, sums_bytes, scratch_bytes;
  std::shared_ptr<const RowsKernel> own;  // replaces the workers' primitives
  std::vector<std::unique_ptr<Worker>> workers;

  // Operands of both operators, then the result, then memory for each thread's sums and scratch.
  void Run(const std::vector<void*>& operands) const final {
    std::exception_ptr failure;
#pragma omp parallel num_threads(static_cast<int>(workers.size())) if (workers.size() > 1)
    {
      const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
      try {
        for (int64_t i = bands * thread / threads; i < bands * (thread + 1) / threads; ++i) {
          RunBand(i, thread, operands);
        }
      } catch (...) {  // an exception must not leave a parallel region; rethrown below
#pragma omp critical
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  // A primitive needs a last band as long as the others, because the weights are laid out for this
  // number of rows: it overlaps the previous band, and only its own rows are rescaled.
  void RunBand(int64_t band, int64_t thread, const std::vector<void*>& operands) const {
    const bool last = band + 1 == bands;
    const int64_t first = band * rows, from = last && own == nullptr ? all - rows : first;
    char* sums = static_cast<char*>(operands.back()) + thread * (sums_bytes + scratch_bytes);
    char* scratch = sums + sums_bytes;
    Worker& worker = *workers[thread];
    if (own != nullptr) {
      own->RunRows({operands[0], operands[1], reinterpret_cast<int32_t*>(sums), scratch}, first,
                   std::min(rows, all - first));
    } else {
      worker.Multiply(static_cast<char*>(operands[0]) + from * data_bytes, operands[1], sums,
                      scratch);
    }
    std::vector<void*> rest(operands.begin() + 1, operands.end() - 1);
    rest.front() = sums + (first - from) * sum_bytes;
    rest.back() = static_cast<char*>(rest.back()) + first * out_bytes;
    worker.Rescale(last, rest);
  }
};

// Whether it is a matrix product of pixels and channels, which may be split anywhere.
bool IsProductOfPixels(const OpCall& product) {
  const Dims &data = product.inputs[0].dims, &weight = product.inputs[1].dims;
  const Window window(product);
  return data.size() == 4 && weight[1] == data[1] && weight[2] == 1 && weight[3] == 1 &&
         IsAll(window.strides, 1) && IsAll(window.before, 0) && IsAll(window.after, 0);
}

// The product for one thread and `rows` rows, or for any rows if it is a kernel of this library.
// Null if oneDNN requires layouts other than channels last.
std::optional<Built> MakeProduct(const OpDef& def, const OpCall& product, int64_t rows,
                                 const Dims& whole) {
  const bool any = !onednn_faults::ProductsAreExact();
  OpCall call = product;
  Dims dst = whole;
  if (!any) {
    call.inputs[0].dims = Rows(rows, product.inputs[0].dims[1], 4);
    dst = Rows(rows, whole[1], 4);
  }
  const MemoryDesc data = ChannelsLast(call.inputs[0].dims, call.inputs[0].dtype);
  auto built = def.make(call, {data}, dst, FusedAttr({}, 0, dst));
  if (!built || built->is_reference() || built->inputs[0].desc != data ||
      built->dst != ChannelsLast(dst, product.result)) {
    return std::nullopt;
  }
  return built;
}

}  // namespace

bool FitsInBands(const OpDef& product_def, const OpCall& product, const OpDef& next_def,
                 const OpCall& next) {
  static const std::set<std::string> products = {"conv1d", "conv2d", "conv3d"};
  if (products.count(product_def.kind) == 0) return false;
  if (next_def.kind != "requantize" && next_def.kind != "dequantize") return false;
  if (!IsInteger(product.result) || product.inputs.size() != 2) return false;
  if (onednn_faults::ProductsAreExact() && !IsProductOfPixels(product)) return false;
  const bool one_scale = std::all_of(next.inputs.begin() + 1, next.inputs.end(),
                                     [](const Operand& o) { return Count(o.dims) == 1; });
  return one_scale || Axis(next) == 1;
}

std::optional<Built> MakeBanded(const OpDef& product_def, const OpCall& product,
                                const OpDef& next_def, const OpCall& next) {
  const Dims &image = product.inputs[0].dims, &sums = next.inputs[0].dims;
  const int64_t channels = sums[1], all = Count(sums) / channels;
  const int64_t threads = omp_get_max_threads();
  const int64_t bytes = all * channels * Size(DType::s32);
  // An equal number for each thread, and no thread without work.
  const int64_t wanted = threads * ((bytes - 1) / (threads * kBandBytes) + 1);
  const int64_t rows = (all - 1) / std::min(wanted, all) + 1;
  const int64_t bands = (all - 1) / rows + 1, rest = all - (bands - 1) * rows;

  const WithThreads alone(1);
  const auto multiply = MakeProduct(product_def, product, rows, sums);
  if (!multiply) return std::nullopt;
  const auto rescale = [&](int64_t count) {
    OpCall call = next;
    const Dims dims = Rows(count, channels, sums.size());
    call.inputs[0].dims = dims;
    std::vector<MemoryDesc> have = {ChannelsLast(dims, call.inputs[0].dtype)};
    for (size_t i = 1; i < call.inputs.size(); ++i) have.push_back(Plain(call.inputs[i]));
    return *next_def.make(call, have, dims, FusedAttr({}, 0, dims));
  };

  auto kernel = std::make_shared<BandedKernel>();
  kernel->rows = rows;
  kernel->bands = bands;
  kernel->all = all;
  kernel->own = std::dynamic_pointer_cast<const RowsKernel>(multiply->own);
  kernel->data_bytes = image[1] * Size(product.inputs[0].dtype);
  kernel->sum_bytes = channels * Size(product.result);
  kernel->out_bytes = channels * Size(next.result);
  kernel->sums_bytes = Lines(rows * kernel->sum_bytes);
  kernel->scratch_bytes = Lines(static_cast<int64_t>(multiply->scratchpad.get_size()));
  for (int64_t i = 0; i < threads; ++i) {
    kernel->workers.push_back(
        std::make_unique<Worker>(*multiply, rescale(rows).own, rescale(rest).own));
  }

  Built built;
  built.own = kernel;
  built.impl = multiply->impl;
  const MemoryDesc whole = ChannelsLast(image, product.inputs[0].dtype);
  built.inputs = {{DNNL_ARG_SRC, whole, whole}, multiply->inputs[1]};
  const auto parameters = rescale(rows).inputs;
  built.inputs.insert(built.inputs.end(), parameters.begin() + 1, parameters.end());
  built.dst = ChannelsLast(sums, next.result);
  built.scratchpad = Plain({threads * (kernel->sums_bytes + kernel->scratch_bytes)}, DType::u8);
  return built;
}

}  // namespace byoc_lab
