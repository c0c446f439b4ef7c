#include "quantized.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

// Compiled for each kind of vector unit; the loader takes the best that the machine has. Names of
// instruction sets, not of processors: `arch=` asks whether this is that very processor.
#define VECTORIZED __attribute__((target_clones("avx512f", "avx2", "default")))

namespace byoc_lab {
namespace {

constexpr int kFractionBits = 31;
constexpr int64_t kFloatWhole = int64_t{1} << 24;  // float32 has all whole numbers up to here
// What is added before the fraction is cut off; a half would also lift the number below a half.
constexpr float kBelowHalf = 0x1.fffffep-2f;
constexpr int64_t kNear = int64_t{1} << 29;

// Elements are written once for both loops below.
//
// Any scales: a product of 64 bits, for which most vector units have no quick instruction.
inline int32_t Rescaled(int32_t x, int32_t bias, int64_t from, int64_t factor, int64_t half,
                        int64_t down, int64_t nearest, int64_t zero, int64_t low, int64_t high) {
  const auto biased = static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(bias));
  const auto wide = static_cast<int64_t>(static_cast<uint64_t>(biased - from) *
                                         static_cast<uint64_t>(factor));
  // Negative numbers get one less than a half when halves go away from zero.
  const int64_t rounding = half + ((wide >> 63) & nearest);
  const auto total = static_cast<int64_t>(static_cast<uint64_t>(wide) +
                                          static_cast<uint64_t>(rounding));
  return static_cast<int32_t>(std::min(std::max((total >> down) + zero, low), high));
}

// The same where `quick` says so: a product of 32 bits by 31, shifted by 31 at least, is one of 32
// bits again. `low` and `high` are those of the result less `zero`.
inline int32_t QuicklyRescaled(int32_t x, int32_t offset, int32_t multiplier, int64_t half,
                               int64_t down, int64_t nearest, int32_t zero, int32_t low,
                               int32_t high) {
  const auto moved = static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(offset));
  const int64_t wide = static_cast<int64_t>(moved) * multiplier;
  const int64_t rounding = half + ((wide >> 63) & nearest);
  const auto total = static_cast<int64_t>(static_cast<uint64_t>(wide) +
                                          static_cast<uint64_t>(rounding));
  return std::min(std::max(static_cast<int32_t>(total >> down), low), high) + zero;
}

// The limits of a result before its zero point is added, as int32.
struct Limits {
  Limits(int64_t zero, int64_t low, int64_t high)
      : low(Cut(low - zero)),
        high(Cut(high - zero)),
        exact(low - zero <= kMost && high - zero >= -kMost) {}

  static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  static int32_t Cut(int64_t value) {
    return static_cast<int32_t>(std::min(std::max(value, -kMost - 1), kMost));
  }

  int32_t low, high;
  bool exact;  // cutting to them changes nothing for numbers of 32 bits
};

template <typename T>
void Repeated(std::vector<T>* values, int64_t times) {
  const size_t count = values->size();
  values->resize(count * times);
  for (size_t i = count; i < values->size(); ++i) (*values)[i] = (*values)[i - count];
}

}  // namespace

void Rescaling::Add(float from_scale, int32_t from_zero, float to_scale, int32_t add) {
  int shift = 0;
  const double fraction = std::frexp(static_cast<double>(from_scale) / to_scale, &shift);
  auto multiplier = static_cast<int64_t>(
      std::floor(fraction * static_cast<double>(int64_t{1} << kFractionBits) + 0.5));
  if (multiplier == int64_t{1} << kFractionBits) {
    multiplier >>= 1;
    ++shift;
  }
  // Shifts beyond the width of a word leave nothing, or the sign.
  const int up = std::max(shift, 0), right = kFractionBits - std::min(shift, 0);
  // Numbers of 8 bits and an offset of 31 do not wrap around.
  const bool near = std::abs(static_cast<int64_t>(add)) < kNear &&
                    std::abs(static_cast<int64_t>(from_zero)) < kNear;
  quick &= up == 0 && (from_zero == 0 || (narrow && near));
  bias.push_back(add);
  zero.push_back(from_zero);
  offset.push_back(
      static_cast<int32_t>(static_cast<uint32_t>(add) - static_cast<uint32_t>(from_zero)));
  small_factor.push_back(static_cast<int32_t>(multiplier));
  factor.push_back(up > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(multiplier) << up));
  half.push_back(right > 64 ? 0 : static_cast<int64_t>(uint64_t{1} << (right - 1)));
  down.push_back(std::min(right, 63));
}

void Rescaling::Repeat(int64_t times) {
  Repeated(&bias, times);
  Repeated(&zero, times);
  Repeated(&factor, times);
  Repeated(&half, times);
  Repeated(&down, times);
  Repeated(&offset, times);
  Repeated(&small_factor, times);
}

VECTORIZED void RescaleRows(const int32_t* x, int64_t count, const Rescaling& how, int64_t channel,
                            int64_t zero, int64_t low, int64_t high, int32_t* out) {
  const int32_t* bias = how.bias.data() + channel;
  const int64_t *from = how.zero.data() + channel, *factor = how.factor.data() + channel,
                *half = how.half.data() + channel, *down = how.down.data() + channel;
  const int64_t nearest = how.nearest;
  const Limits limits(zero, low, high);
  if (how.quick && limits.exact) {
    const int32_t *offset = how.offset.data() + channel,
                  *small_factor = how.small_factor.data() + channel;
    const auto after = static_cast<int32_t>(zero);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      out[i] = QuicklyRescaled(x[i], offset[i], small_factor[i], half[i], down[i], nearest, after,
                               limits.low, limits.high);
    }
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    out[i] = Rescaled(x[i], bias[i], from[i], factor[i], half[i], down[i], nearest, zero, low,
                      high);
  }
}

VECTORIZED void RescaleRow(const int32_t* x, int64_t count, const Rescaling& how, int64_t channel,
                           int64_t zero, int64_t low, int64_t high, int32_t* out) {
  const int32_t bias = how.bias[channel];
  const int64_t from = how.zero[channel], factor = how.factor[channel], half = how.half[channel],
                down = how.down[channel], nearest = how.nearest;
  const Limits limits(zero, low, high);
  if (how.quick && limits.exact) {
    const int32_t offset = how.offset[channel], small_factor = how.small_factor[channel];
    const auto after = static_cast<int32_t>(zero);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      out[i] = QuicklyRescaled(x[i], offset, small_factor, half, down, nearest, after, limits.low,
                               limits.high);
    }
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    out[i] = Rescaled(x[i], bias, from, factor, half, down, nearest, zero, low, high);
  }
}

VECTORIZED void AddRow(const int32_t* a, const int32_t* b, int64_t count, int64_t zero,
                       int64_t low, int64_t high, int32_t* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const int64_t total = static_cast<int64_t>(a[i]) + b[i] - zero;
    out[i] = static_cast<int32_t>(std::min(std::max(total, low), high));
  }
}

VECTORIZED void QuantizeRow(const float* x, int64_t count, float scale, int64_t zero, int64_t low,
                            int64_t high, int32_t* out) {
  // Limits that float32 holds exactly: cut there, and nothing has more than 32 bits.
  if (std::abs(low - zero) <= kFloatWhole && std::abs(high - zero) <= kFloatWhole) {
    const auto least = static_cast<float>(low - zero), most = static_cast<float>(high - zero);
    const auto after = static_cast<int32_t>(zero);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const float ratio = std::min(std::max(least, x[i] / scale), most);
      out[i] = static_cast<int32_t>(ratio + std::copysign(kBelowHalf, ratio)) + after;
    }
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    // What no integer type of the result holds is cut before it is converted.
    const float ratio = std::min(std::max(x[i] / scale, -9e18f), 9e18f);
    const float whole = std::trunc(ratio);
    const float away = std::fabs(ratio - whole) >= 0.5f ? std::copysign(1.0f, ratio) : 0.0f;
    const int64_t total = static_cast<int64_t>(whole + away) + zero;
    out[i] = static_cast<int32_t>(std::min(std::max(total, low), high));
  }
}

VECTORIZED void DequantizeRow(const int32_t* x, int64_t count, float scale, int32_t zero,
                              float* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const auto moved =
        static_cast<int32_t>(static_cast<uint32_t>(x[i]) - static_cast<uint32_t>(zero));
    out[i] = static_cast<float>(moved) * scale;
  }
}

VECTORIZED void WidenRow(const uint8_t* x, int64_t count, int32_t* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = x[i];
}

VECTORIZED void WidenRow(const int8_t* x, int64_t count, int32_t* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = x[i];
}

VECTORIZED void NarrowRow(const int32_t* x, int64_t count, uint8_t* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(x[i]);
}

VECTORIZED void NarrowRow(const int32_t* x, int64_t count, int8_t* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<int8_t>(x[i]);
}

}  // namespace byoc_lab
