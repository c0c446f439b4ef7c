// Quantized numbers, real = scale * (integer - zero point), as Relay's qnn operators have them:
// quantize    float32 -> integers: data / scale, halves away from zero, + zero point
// dequantize  integers -> float32: scale * (data - zero point)
// requantize  integers -> integers of another scale; `bias` is added to the data first
// qadd        the sum of two quantized tensors of one shape
// Results keep to [low, high] and to the range of their dtype. Scales are float32, zero points and
// biases int32, each one number or one for each index of `axis`.
#include "../quantized.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "../op.h"

namespace byoc_lab {
namespace {

const std::pair<const char*, Rounding> kRoundings[] = {{"UPWARD", Rounding::kUp},
                                                       {"TONEAREST", Rounding::kAway},
                                                       {"TOEVEN", Rounding::kEven},
                                                       {"TOZERO", Rounding::kCut}};
constexpr int64_t kPiece = 2048;  // elements between reading and writing: they stay in the L1 cache
constexpr int64_t kRun = 1024;    // elements whose scales are in tables

struct Range {
  int64_t low, high;
};

Range RangeOf(DType dtype) {
  if (dtype == DType::u8) return {0, 255};
  if (dtype == DType::s8) return {-128, 127};
  return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
}

// Elements [start, start + count) as int32; the data itself if it is int32 already.
const int32_t* Load(const void* data, DType dtype, int64_t start, int64_t count, int32_t* into) {
  if (dtype == DType::s32) return static_cast<const int32_t*>(data) + start;
  if (dtype == DType::u8) {
    WidenRow(static_cast<const uint8_t*>(data) + start, count, into);
  } else {
    WidenRow(static_cast<const int8_t*>(data) + start, count, into);
  }
  return into;
}

void Store(const int32_t* from, int64_t count, DType dtype, int64_t start, void* data) {
  if (dtype == DType::u8) {
    NarrowRow(from, count, static_cast<uint8_t*>(data) + start);
  } else if (dtype == DType::s8) {
    NarrowRow(from, count, static_cast<int8_t*>(data) + start);
  } else {
    std::copy_n(from, count, static_cast<int32_t*>(data) + start);
  }
}

// The memory layout of a tensor along the axis of the scales: outer * channels * inner elements.
struct Walk {
  int64_t outer, channels, inner;

  // Whether neighbours have different scales.
  bool interleaved() const { return inner == 1 && channels > 1; }

  // The number of repetitions of the channels in a run: few channels would make short loops.
  int64_t repeats() const {
    return interleaved() ? std::max<int64_t>(1, std::min(kRun / channels, outer)) : 1;
  }

  // Calls row(first element, count, channel) for pieces of one channel. If the channels are
  // interleaved, a piece starts at `channel` and continues with the following channels, all
  // repeated `repeats` times.
  template <typename Row>
  void ForEach(int threads, const Row& row) const {
    const int64_t all = outer * channels * inner;
    const int64_t run = interleaved() ? channels * repeats() : inner;
    const int64_t runs = (all + run - 1) / run, pieces = (run + kPiece - 1) / kPiece;
#pragma omp parallel for num_threads(threads) if (all > 4 * kPiece)
    for (int64_t piece = 0; piece < runs * pieces; ++piece) {
      const int64_t index = piece / pieces, begin = piece % pieces * kPiece;
      const int64_t start = index * run + begin, end = std::min((index + 1) * run, all);
      if (start < end) {
        row(start, std::min(kPiece, end - start), interleaved() ? begin : index % channels);
      }
    }
  }
};

// Nothing if the layout has blocks or gaps.
std::optional<Walk> WalkAlong(const MemoryDesc& desc, const OpCall& call, bool per_channel) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked || desc.get_inner_nblks() != 0) {
    return std::nullopt;
  }
  const Dims dims = desc.get_dims(), strides = desc.get_strides();
  const int64_t count = Count(dims);
  if (static_cast<int64_t>(desc.get_size()) != count * Size(desc.get_data_type())) {
    return std::nullopt;
  }
  if (!per_channel) return Walk{1, 1, count};
  const size_t axis = Axis(call);
  int64_t inner = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != axis && strides[i] < strides[axis]) inner *= dims[i];
  }
  return Walk{count / dims[axis] / inner, dims[axis], inner};
}

// The parameters of a kernel that are known when it is created; scales and zero points are read
// when it runs.
struct Settings {
  Walk walk;
  DType from, to;
  Range range;
  Rounding rounding;
  int threads;
  std::vector<int64_t> lengths;  // number of elements of each operand

  template <typename T>
  T At(const std::vector<void*>& operands, size_t operand, int64_t channel) const {
    return static_cast<const T*>(operands[operand])[channel % lengths[operand]];
  }
};

// The tables of a requantize, kept as long as its scales and zero points are the same numbers;
// usually they are constants.
class Tables {
 public:
  const Rescaling& Get(const Settings& s, const std::vector<void*>& operands) {
    if (!Same(s, operands)) {
      made_of_.clear();
      for (size_t i = 1; i < s.lengths.size(); ++i) {
        const auto* bits = static_cast<const int32_t*>(operands[i]);
        made_of_.insert(made_of_.end(), bits, bits + s.lengths[i]);
      }
      made_ = Make(s, operands);
    }
    return made_;
  }

 private:
  bool Same(const Settings& s, const std::vector<void*>& operands) const {
    if (made_of_.empty()) return false;
    const int32_t* had = made_of_.data();
    for (size_t i = 1; i < s.lengths.size(); ++i) {
      if (std::memcmp(had, operands[i], s.lengths[i] * sizeof(*had)) != 0) return false;
      had += s.lengths[i];
    }
    return true;
  }

  static Rescaling Make(const Settings& s, const std::vector<void*>& operands) {
    const bool biased = s.lengths.size() == 6;
    Rescaling made;
    made.rounding = s.rounding;
    made.narrow = s.from != DType::s32;
    for (int64_t channel = 0; channel < s.walk.channels; ++channel) {
      made.Add(s.At<float>(operands, 1, channel), s.At<int32_t>(operands, 2, channel),
               s.At<float>(operands, 3, 0), biased ? s.At<int32_t>(operands, 5, channel) : 0);
    }
    made.Repeat(s.walk.repeats());
    return made;
  }

  std::vector<int32_t> made_of_;
  Rescaling made_;
};

using Compute = void (*)(const Settings& settings, const std::vector<void*>& operands,
                         Tables* tables);

struct Kernel : OwnKernel {
  Settings settings;
  Compute compute;
  mutable Tables tables;  // a plan runs in one thread at a time
  void Run(const std::vector<void*>& operands) const final {
    compute(settings, operands, &tables);
  }
};

void Quantize(const Settings& s, const std::vector<void*>& operands, Tables*) {
  s.walk.ForEach(s.threads, [&](int64_t start, int64_t count, int64_t channel) {
    const auto* data = static_cast<const float*>(operands[0]) + start;
    int32_t out[kPiece];
    const int64_t step = s.walk.interleaved() ? 1 : count;
    for (int64_t i = 0; i < count; i += step) {
      QuantizeRow(data + i, step, s.At<float>(operands, 1, channel + i),
                  s.At<int32_t>(operands, 2, channel + i), s.rounding, s.range.low, s.range.high,
                  out + i);
    }
    Store(out, count, s.to, start, operands.back());
  });
}

void Dequantize(const Settings& s, const std::vector<void*>& operands, Tables*) {
  std::vector<float> scales;
  std::vector<int32_t> zeros;
  for (int64_t channel = 0; channel < s.walk.channels * s.walk.repeats(); ++channel) {
    scales.push_back(s.At<float>(operands, 1, channel));
    zeros.push_back(s.At<int32_t>(operands, 2, channel));
  }
  s.walk.ForEach(s.threads, [&](int64_t start, int64_t count, int64_t channel) {
    int32_t held[kPiece];
    const int32_t* data = Load(operands[0], s.from, start, count, held);
    DequantizeRow(data, count, &scales[channel], &zeros[channel], s.walk.interleaved(),
                  static_cast<float*>(operands.back()) + start);
  });
}

void Requantize(const Settings& s, const std::vector<void*>& operands, Tables* tables) {
  const Rescaling& how = tables->Get(s, operands);
  const int64_t zero = s.At<int32_t>(operands, 4, 0);
  s.walk.ForEach(s.threads, [&](int64_t start, int64_t count, int64_t channel) {
    int32_t held[kPiece];
    const int32_t* data = Load(operands[0], s.from, start, count, held);
    const auto rescale = [&](auto* out) {
      RescaleRow(data, count, how, channel, s.walk.interleaved(), zero, s.range.low, s.range.high,
                 out + start);
    };
    if (s.to == DType::u8) {
      rescale(static_cast<uint8_t*>(operands.back()));
    } else if (s.to == DType::s8) {
      rescale(static_cast<int8_t*>(operands.back()));
    } else {
      rescale(static_cast<int32_t*>(operands.back()));
    }
  });
}

// Both operands in the scale of the result, as int32; then their sum minus the zero point, which
// both contain.
void Add(const Settings& s, const std::vector<void*>& operands, Tables*) {
  const float scale = s.At<float>(operands, 6, 0);
  const int64_t zero = s.At<int32_t>(operands, 7, 0);
  Rescaling lhs, rhs;
  lhs.narrow = rhs.narrow = s.from != DType::s32;
  lhs.rounding = rhs.rounding = s.rounding;
  lhs.Add(s.At<float>(operands, 2, 0), s.At<int32_t>(operands, 3, 0), scale, 0);
  rhs.Add(s.At<float>(operands, 4, 0), s.At<int32_t>(operands, 5, 0), scale, 0);
  const Range full = RangeOf(DType::s32);
  s.walk.ForEach(s.threads, [&](int64_t start, int64_t count, int64_t channel) {
    int32_t held[kPiece], a[kPiece], b[kPiece];
    RescaleRow(Load(operands[0], s.from, start, count, held), count, lhs, 0, /*each=*/false, zero,
               full.low, full.high, a);
    RescaleRow(Load(operands[1], s.from, start, count, held), count, rhs, 0, /*each=*/false, zero,
               full.low, full.high, b);
    AddRow(a, b, count, zero, s.range.low, s.range.high, a);
    Store(a, count, s.to, start, operands.back());
  });
}

// Checks --------------------------------------------------------------------------------------

void CheckHolds(const OpCall& call, const std::string& name, DType found, bool right,
                const char* expected) {
  if (right) return;
  TVM_FFI_THROW(TypeError) << call.where << ": " << name << ": expected dtype " << expected
                           << ", found " << Name(found);
}

// Checks that operand `index` is one number or, if `vector`, one for each index of the axis.
void CheckParameter(const OpCall& call, size_t index, DType dtype, bool vector) {
  const Operand& operand = call.inputs[index];
  CheckHolds(call, operand.name, operand.dtype, operand.dtype == dtype,
             dtype == DType::f32 ? "float32" : "int32");
  if (Count(operand.dims) == 1) return;
  if (!vector) CheckShape(call.where, operand, {1}, "one number");
  const int64_t channels = call.inputs[0].dims[Axis(call)];
  CheckShape(call.where, operand, {channels}, "one for each index of the axis, or one number");
}

// Every operator supports all roundings except one.
Rounding RoundingOf(const OpCall& call, Rounding but) {
  const std::string& found = call.attrs.Word("rounding");
  std::string known;
  for (const auto& [name, rounding] : kRoundings) {
    if (rounding == but) continue;
    if (found == name) return rounding;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  TVM_FFI_THROW(ValueError) << call.where << ": rounding: expected one of " << known << "; found '"
                            << found << "'";
}

// The axis of the scales, which is relevant only if they are vectors.
void CheckAxis(const OpCall& call) {
  if (!call.inputs[0].dims.empty()) Axis(call);
}

Dims InferQuantize(const OpCall& call) {
  CheckHolds(call, call.inputs[0].name, call.inputs[0].dtype, call.inputs[0].dtype == DType::f32,
             "float32");
  CheckHolds(call, call.result_name, call.result, IsInteger(call.result), "uint8, int8 or int32");
  CheckAxis(call);
  CheckParameter(call, 1, DType::f32, true);
  CheckParameter(call, 2, DType::s32, true);
  RoundingOf(call, Rounding::kUp);
  return call.inputs[0].dims;
}

void CheckIntegerData(const OpCall& call) {
  const Operand& data = call.inputs[0];
  CheckHolds(call, data.name, data.dtype, IsInteger(data.dtype), "uint8, int8 or int32");
}

Dims InferDequantize(const OpCall& call) {
  CheckIntegerData(call);
  CheckHolds(call, call.result_name, call.result, call.result == DType::f32, "float32");
  CheckAxis(call);
  CheckParameter(call, 1, DType::f32, true);
  CheckParameter(call, 2, DType::s32, true);
  return call.inputs[0].dims;
}

Dims InferRequantize(const OpCall& call) {
  CheckIntegerData(call);
  CheckHolds(call, call.result_name, call.result, IsInteger(call.result), "uint8, int8 or int32");
  CheckAxis(call);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    CheckParameter(call, i, i == 1 || i == 3 ? DType::f32 : DType::s32, i != 3 && i != 4);
  }
  RoundingOf(call, Rounding::kCut);
  return call.inputs[0].dims;
}

Dims InferAdd(const OpCall& call) {
  CheckIntegerData(call);
  const Operand &lhs = call.inputs[0], &rhs = call.inputs[1];
  CheckHolds(call, rhs.name, rhs.dtype, rhs.dtype == lhs.dtype, Name(lhs.dtype).c_str());
  CheckHolds(call, call.result_name, call.result, IsInteger(call.result), "uint8, int8 or int32");
  CheckShape(call.where, rhs, lhs.dims, "that of " + lhs.name);
  for (size_t i = 2; i < call.inputs.size(); ++i) {
    CheckParameter(call, i, i % 2 == 0 ? DType::f32 : DType::s32, false);
  }
  RoundingOf(call, Rounding::kCut);
  return lhs.dims;
}

template <Compute compute>
std::optional<Built> Make(const OpCall& call, const std::vector<MemoryDesc>& have,
                          const Dims& dst, const dnnl::primitive_attr& attr) {
  if (attr.get_post_ops().len() != 0) return std::nullopt;
  bool per_channel = false;
  const size_t data = compute == Add ? 2 : 1;  // operands with the result's shape come first
  auto kernel = std::make_shared<Kernel>();
  Settings& s = kernel->settings;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    s.lengths.push_back(Count(call.inputs[i].dims));
    if (i >= data && s.lengths[i] != 1) per_channel = true;
  }
  MemoryDesc layout = have[0];
  auto walk = WalkAlong(layout, call, per_channel);
  if (!walk) {
    layout = Plain(call.inputs[0]);
    walk = WalkAlong(layout, call, per_channel);
  }
  s.walk = *walk;
  s.from = call.inputs[0].dtype;
  s.to = call.result;
  if (IsInteger(call.result)) {
    const Range range = RangeOf(call.result);
    s.range = {std::max(range.low, call.attrs.Int("low")),
               std::min(range.high, call.attrs.Int("high"))};
  }
  if (compute != Dequantize) {
    s.rounding = RoundingOf(call, compute == Quantize ? Rounding::kUp : Rounding::kCut);
  }
  s.threads = omp_get_max_threads();
  kernel->compute = compute;
  Built built;
  built.impl = "rows";
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const MemoryDesc desc = i < data ? layout : Plain(call.inputs[i]);
    built.inputs.push_back({static_cast<int>(i), desc, desc});
  }
  built.dst = MemoryDesc(layout.get_dims(), call.result, layout.get_strides());
  built.own = kernel;
  return built;
}

// name, operands, the number of required operands, checks, computed function.
template <Compute compute>
bool Define(const char* kind, std::vector<std::string> inputs, size_t required,
            Dims (*infer)(const OpCall&)) {
  OpDef def;
  def.kind = kind;
  def.inputs = inputs;
  def.required = required;
  def.axes.assign(inputs.size(), "");
  def.infer = infer;
  def.make = Make<compute>;
  def.holds = Holds::kOwn;
  def.attrs = {{"axis", int64_t{-1}, -kMaxSize}};
  if (compute != Dequantize) {
    const Range range = RangeOf(DType::s32);
    def.attrs.push_back({"low", range.low, range.low, range.high});
    def.attrs.push_back({"high", range.high, range.low, range.high});
    def.attrs.push_back({"rounding", std::string(compute == Quantize ? "TONEAREST" : "UPWARD")});
  }
  return DefineOp(def);
}

const bool defined[] = {
    Define<Quantize>("quantize", {"data", "scale", "zero_point"}, 3, InferQuantize),
    Define<Dequantize>("dequantize", {"data", "scale", "zero_point"}, 3, InferDequantize),
    Define<Requantize>("requantize",
                       {"data", "input_scale", "input_zero_point", "output_scale",
                        "output_zero_point", "bias"},
                       5, InferRequantize),
    Define<Add>("qadd",
                {"lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point",
                 "output_scale", "output_zero_point"},
                8, InferAdd)};

}  // namespace
}  // namespace byoc_lab
