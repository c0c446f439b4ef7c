#include "banded.h"

#include <omp.h>

#include <algorithm>
#include <exception>

#include "threads.h"
#include "windows.h"

namespace byoc_lab {
namespace {

// Bytes of a band's sums: with its data and the weights they fit a core's second cache.
constexpr int64_t kBandBytes = 512 << 10;

// Rows of `channels` numbers: what an image with its channels last is to a 1x1 convolution.
Dims Rows(int64_t rows, int64_t channels) { return {1, channels, 1, rows}; }

// Bytes to the end of a cache line.
int64_t Lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// What one thread runs: the product over a band, and the requantize over a band or over what is
// left for the last one.
class Worker {
 public:
  Worker(const Built& product, std::shared_ptr<const OwnKernel> full,
         std::shared_ptr<const OwnKernel> last)
      : own_(product.own),
        primitive_(product.primitive),
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
    if (own_ != nullptr) return own_->Run({data, weights, sums, scratch});
    data_.set_data_handle(data);
    weights_.set_data_handle(weights);
    sums_.set_data_handle(sums);
    scratch_.set_data_handle(scratch);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(args_.size()),
                               args_.data()),
        "could not execute a primitive");
  }

  void Requantize(bool last, const std::vector<void*>& operands) const {
    (last ? last_ : full_)->Run(operands);
  }

 private:
  std::shared_ptr<const OwnKernel> own_;  // in place of the primitive
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
  // Bytes of a row of the data, the sums and the result, and of a thread's sums and scratch.
  int64_t rows, bands, all, data_bytes, sum_bytes, out_bytes, sums_bytes, scratch_bytes;
  std::vector<std::unique_ptr<Worker>> workers;

  // Operands of both, then the result, then memory for each thread's sums and scratch.
  void Run(const std::vector<void*>& operands) const final {
    std::exception_ptr failure;
#pragma omp parallel num_threads(static_cast<int>(workers.size())) if (workers.size() > 1)
    {
      const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
      try {
        for (int64_t i = bands * thread / threads; i < bands * (thread + 1) / threads; ++i) {
          RunBand(i, thread, operands);
        }
      } catch (...) {  // it may not leave a parallel region, and leaves this function below
#pragma omp critical
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  // The last band is as long as the others, for the weights lie as a primitive for so many rows
  // wants them: it begins in the one before, and only its own rows are rescaled.
  void RunBand(int64_t band, int64_t thread, const std::vector<void*>& operands) const {
    const bool last = band + 1 == bands;
    const int64_t first = band * rows, from = last ? all - rows : first;
    char* sums = static_cast<char*>(operands.back()) + thread * (sums_bytes + scratch_bytes);
    Worker& worker = *workers[thread];
    worker.Multiply(static_cast<char*>(operands[0]) + from * data_bytes, operands[1], sums,
                    sums + sums_bytes);
    std::vector<void*> rest(operands.begin() + 1, operands.end() - 1);
    rest.front() = sums + (first - from) * sum_bytes;
    rest.back() = static_cast<char*>(rest.back()) + first * out_bytes;
    worker.Requantize(last, rest);
  }
};

}  // namespace

bool FitsInBands(const OpDef& product_def, const OpCall& product, const OpDef& next_def,
                 const OpCall& next) {
  if (product_def.kind != "conv2d" || next_def.kind != "requantize") return false;
  if (!IsInteger(product.result) || product.inputs.size() != 2) return false;
  const Dims &data = product.inputs[0].dims, &weight = product.inputs[1].dims;
  const Window window(product);
  const bool is_product = weight[1] == data[1] && weight[2] == 1 && weight[3] == 1 &&
                          IsAll(window.strides, 1) && IsAll(window.before, 0) &&
                          IsAll(window.after, 0);
  const bool one_scale = std::all_of(next.inputs.begin() + 1, next.inputs.end(),
                                     [](const Operand& o) { return Count(o.dims) == 1; });
  return is_product && (one_scale || Axis(next) == 1);
}

std::optional<Built> MakeBanded(const OpDef& product_def, const OpCall& product,
                                const OpDef& next_def, const OpCall& next) {
  const Dims &image = product.inputs[0].dims, &weight = product.inputs[1].dims;
  const int64_t all = image[0] * image[2] * image[3], channels = weight[0];
  const int64_t threads = omp_get_max_threads();
  const int64_t bytes = all * channels * Size(DType::s32);
  // As many for each thread, and no thread without work.
  const int64_t wanted = threads * ((bytes - 1) / (threads * kBandBytes) + 1);
  const int64_t rows = (all - 1) / std::min(wanted, all) + 1;
  const int64_t bands = (all - 1) / rows + 1, rest = all - (bands - 1) * rows;

  const WithThreads alone(1);
  OpCall call = product;
  call.inputs[0].dims = Rows(rows, image[1]);
  const Dims dst = Rows(rows, channels);
  const MemoryDesc data = ChannelsLast(call.inputs[0].dims, call.inputs[0].dtype);
  const auto multiply = product_def.make(call, {data}, dst, FusedAttr({}, 0, dst));
  if (!multiply || multiply->is_reference() || multiply->inputs[0].desc != data ||
      multiply->dst != ChannelsLast(dst, product.result)) {
    return std::nullopt;
  }
  const auto rescale = [&](int64_t count) {
    OpCall call = next;
    call.inputs[0].dims = Rows(count, channels);
    std::vector<MemoryDesc> have = {ChannelsLast(call.inputs[0].dims, call.inputs[0].dtype)};
    for (size_t i = 1; i < call.inputs.size(); ++i) have.push_back(Plain(call.inputs[i]));
    return *next_def.make(call, have, call.inputs[0].dims, FusedAttr({}, 0, dst));
  };

  auto kernel = std::make_shared<BandedKernel>();
  kernel->rows = rows;
  kernel->bands = bands;
  kernel->all = all;
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
  built.dst = ChannelsLast({image[0], channels, image[2], image[3]}, next.result);
  built.scratchpad = Plain({threads * (kernel->sums_bytes + kernel->scratch_bytes)}, DType::u8);
  return built;
}

}  // namespace byoc_lab
