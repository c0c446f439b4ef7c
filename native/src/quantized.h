// Arithmetic of quantized numbers, real = scale * (integer - zero point), bit for bit that of
// Relay's qnn operators. Plain C++ over rows: nothing here knows graphs or oneDNN.
//
// A change of scale is integer arithmetic: the ratio of the scales is taken as
// multiplier * 2**(shift - 31) with 2**30 <= multiplier < 2**31, as in TVM 0.16's
// src/relay/qnn/op/requantize.cc (compute_dtype int64).
#ifndef BYOC_LAB_QUANTIZED_H_
#define BYOC_LAB_QUANTIZED_H_

#include <cstdint>
#include <vector>

namespace byoc_lab {

// Rounding of halves: up, away from zero, or to the even neighbour. kCut: truncation.
enum class Rounding { kUp, kAway, kEven, kCut };

// Parameters to convert elements from one scale to another: one entry per channel.
struct Rescaling {
  std::vector<int32_t> bias;    // added first, wrapping around as int32 does
  std::vector<int64_t> zero;    // subtracted
  std::vector<int64_t> factor;  // multiplied by, modulo 2**64
  std::vector<int64_t> half;    // added, then shifted right by `down`
  std::vector<int64_t> down;
  Rounding rounding = Rounding::kUp;
  bool narrow = false;          // all data is within 8 bits; to be set before `Add`

  // The same in float32, to be tried first if `quick`: bias - zero, and the ratio of the scales
  // in the units of a fast row.
  std::vector<int32_t> offset;
  std::vector<float> scale;
  bool quick = true;

  // One entry more.
  void Add(float from_scale, int32_t from_zero, float to_scale, int32_t add);
  // Repeats all entries `times` times.
  void Repeat(int64_t times);
};

// out[i] = x[i] rescaled, plus `zero`, clamped to [low, high]. x[0] uses the entry at `channel`; if
// `each`, x[1] uses the next one and so on, else all use the first.
void RescaleRow(const int32_t* x, int64_t count, const Rescaling& how, int64_t channel, bool each,
                int64_t zero, int64_t low, int64_t high, int32_t* out);
// The same if [low, high] is within the range of the result type.
void RescaleRow(const int32_t* x, int64_t count, const Rescaling& how, int64_t channel, bool each,
                int64_t zero, int64_t low, int64_t high, uint8_t* out);
void RescaleRow(const int32_t* x, int64_t count, const Rescaling& how, int64_t channel, bool each,
                int64_t zero, int64_t low, int64_t high, int8_t* out);

// out[i] = a[i] + b[i] - zero, clamped to [low, high].
void AddRow(const int32_t* a, const int32_t* b, int64_t count, int64_t zero, int64_t low,
            int64_t high, int32_t* out);

// out[i] = x[i] / scale, rounded (not kUp), + zero, clamped to [low, high].
void QuantizeRow(const float* x, int64_t count, float scale, int64_t zero, Rounding rounding,
                 int64_t low, int64_t high, int32_t* out);

// out[i] = scale[i] * (x[i] - zero[i]), the difference wrapping around as int32 does; the first scale
// and zero for all elements unless `each`.
void DequantizeRow(const int32_t* x, int64_t count, const float* scale, const int32_t* zero,
                   bool each, float* out);

// Elements as int32, and int32 in range as elements.
void WidenRow(const uint8_t* x, int64_t count, int32_t* out);
void WidenRow(const int8_t* x, int64_t count, int32_t* out);
void NarrowRow(const int32_t* x, int64_t count, uint8_t* out);
void NarrowRow(const int32_t* x, int64_t count, int8_t* out);

}  // namespace byoc_lab

#endif  // BYOC_LAB_QUANTIZED_H_
