#include "quantized.h"

#include <immintrin.h>

// GCC reports the undefined vectors in these intrinsics as mistakes if they are inlined.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <type_traits>

#include "vectorized.h"

namespace byoc_lab {
namespace {

constexpr int kFractionBits = 31;
constexpr int64_t kFloatWhole = int64_t{1} << 24;  // float32 represents all integers up to here
// Added before the fraction is truncated; one half would also round up the number just below a
// half.
constexpr float kBelowHalf = 0x1.fffffep-2f;
constexpr int64_t kNear = int64_t{1} << 29;
constexpr int64_t kSmall = 300;   // the largest distance of 8-bit numbers from the zero point
constexpr int32_t kLift = 512;     // larger than kSmall
constexpr int32_t kUnitBits = 13, kUnit = 1 << kUnitBits;  // 2**24 > (kSmall + kLift) * kUnit
constexpr float kLifted = kLift * kUnit + kUnit / 2 + 1;  // uncertain results become 0 and 1
constexpr int64_t kBlock = 128;

// Exact for any scales: a 64-bit product, for which vector units have no fast instruction.
inline int32_t Rescaled(int32_t x, int32_t bias, int64_t from, int64_t factor, int64_t half,
                        int64_t down, Rounding how, int64_t zero, int64_t low, int64_t high) {
  const auto biased = static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(bias));
  const auto wide = static_cast<int64_t>(static_cast<uint64_t>(biased - from) *
                                         static_cast<uint64_t>(factor));
  // Negative numbers get slightly less than a half if halves round away from zero.
  const int64_t less = how == Rounding::kAway ? wide >> 63 : 0;
  const auto total = static_cast<int64_t>(static_cast<uint64_t>(wide) +
                                          static_cast<uint64_t>(half + less));
  int64_t whole = total >> down;
  const uint64_t fraction = static_cast<uint64_t>(wide) & (2 * static_cast<uint64_t>(half) - 1);
  if (how == Rounding::kEven && fraction == static_cast<uint64_t>(half)) whole -= whole & 1;
  return static_cast<int32_t>(std::min(std::max(whole + zero, low), high));
}

// Small results are computed in float32, in units of 1 / kUnit, and kept if rounding cannot have
// changed them. Three roundings of at most kSmall and one of kSmall + kLift give an error below 0.7
// units, so only the units on both sides of a half are uncertain. One element in some thousands is
// uncertain, and is computed exactly.
struct Quick {
  bool small;         // otherwise it does not apply
  float least, most;  // results clamped there are the limits themselves, and are certain
  int32_t after;      // added to the integer part

  Quick(const Rescaling& how, int64_t zero, int64_t low, int64_t high)
      : small(how.quick && zero - low <= kSmall && high - zero <= kSmall),
        least((static_cast<float>(low - zero) + kLift + 0.01f) * kUnit),
        most((static_cast<float>(high - zero) + kLift + 0.99f) * kUnit),
        after(static_cast<int32_t>(zero - kLift)) {}
};

// The first `count` of a row. `kEach`: each element has a separate entry of `how`, else all use the
// first. One uncertain element makes its whole block be computed exactly.
template <bool kEach>
inline __attribute__((always_inline)) void Rescale(const int32_t* x, int64_t count,
                                                   const Rescaling& how, int64_t channel,
                                                   int64_t zero, int64_t low, int64_t high,
                                                   int32_t* out) {
  const int32_t *bias = how.bias.data() + channel, *offset = how.offset.data() + channel;
  const float* scale = how.scale.data() + channel;
  const int64_t *from = how.zero.data() + channel, *factor = how.factor.data() + channel,
                *half = how.half.data() + channel, *down = how.down.data() + channel;
  const Rounding rounding = how.rounding;
  const Quick quick(how, zero, low, high);
  const float least = quick.least, most = quick.most;
  const int32_t after = quick.after;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    if (quick.small) {
      int32_t closest = kUnit;  // distance to a half: 0 is uncertain
#pragma omp simd reduction(min : closest)
      for (int64_t i = begin; i < end; ++i) {
        const int64_t k = kEach ? i : 0;
        const auto moved =
            static_cast<int32_t>(static_cast<uint32_t>(x[i]) + static_cast<uint32_t>(offset[k]));
        // Shifted above zero, where a conversion rounds down.
        const float real = static_cast<float>(moved) * scale[k] + kLifted;
        const auto units = static_cast<int32_t>(std::min(std::max(real, least), most));
        closest = std::min(closest, units & (kUnit - 2));
        out[i] = (units >> kUnitBits) + after;
      }
      if (closest != 0) continue;
    }
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const int64_t k = kEach ? i : 0;
      out[i] = Rescaled(x[i], bias[k], from[k], factor[k], half[k], down[k], rounding, zero, low,
                        high);
    }
  }
}

#define FOR_AVX512 __attribute__((target("avx512f,avx512bw")))

// The fast path for AVX-512 vectors, 16 elements at a time. Conversions round down here, so nothing
// has to be shifted. Values that int32 cannot represent are clamped before.
struct QuickVectors {
  const int32_t *x, *offset;
  const float* scale;
  bool each;
  __m512 add, least, most;
  __m512i doubt;  // bits of the units, all 0 for an uncertain result

  // The results, not clamped to their range, and a bit for each uncertain one.
  FOR_AVX512 inline __attribute__((always_inline)) __m512i At(int64_t at,
                                                              __mmask16* doubtful) const {
    const __m512i offsets =
        each ? _mm512_loadu_si512(offset + at) : _mm512_set1_epi32(*offset);
    const __m512 scales = each ? _mm512_loadu_ps(scale + at) : _mm512_set1_ps(*scale);
    const __m512i moved = _mm512_add_epi32(_mm512_loadu_si512(x + at), offsets);
    const __m512 real = _mm512_fmadd_ps(_mm512_cvtepi32_ps(moved), scales, add);
    const __m512i units = _mm512_cvt_roundps_epi32(_mm512_min_ps(_mm512_max_ps(real, least), most),
                                                   _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    *doubtful = _mm512_testn_epi32_mask(units, doubt);
    return _mm512_srai_epi32(units, kUnitBits);
  }
};

// The elements of four vectors, clamped to [low, high].
template <bool kSigned>
FOR_AVX512 inline __m512i Narrowed(__m512i a, __m512i b, __m512i c, __m512i d, __m512i low,
                                   __m512i high) {
  const __m512i front = _mm512_packs_epi32(a, b), back = _mm512_packs_epi32(c, d);
  const __m512i bytes =
      kSigned ? _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(front, back), low), high)
              : _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(front, back), low), high);
  // Each quarter holds four elements of each vector.
  const __m512i in_turn = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(in_turn, bytes);
}

// Converts as many elements of a row as fill AVX-512 vectors to 8 bits; returns their number. Each
// uncertain element is computed exactly, and narrowing needs no separate pass.
template <bool kEach, typename T>
FOR_AVX512 int64_t RescaleVectors(const int32_t* x, int64_t count, const Rescaling& how,
                                  int64_t channel, int64_t zero, int64_t low, int64_t high,
                                  T* out) {
  constexpr int64_t kLanes = 16;
  if (!Quick(how, zero, low, high).small) return 0;
  const QuickVectors vectors = {
      x,
      how.offset.data() + channel,
      how.scale.data() + channel,
      kEach,
      _mm512_set1_ps(static_cast<float>(zero * kUnit + kUnit / 2 + 1)),
      _mm512_set1_ps((static_cast<float>(low) + 0.01f) * kUnit),
      _mm512_set1_ps((static_cast<float>(high) + 0.99f) * kUnit),
      _mm512_set1_epi32(kUnit - 2)};
  const __m512i least = _mm512_set1_epi8(static_cast<char>(low)),
                most = _mm512_set1_epi8(static_cast<char>(high));
  int64_t i = 0;
  while (i + kLanes <= count) {
    const bool four = i + 4 * kLanes <= count;
    __mmask16 doubtful[4] = {};
    const __m512i first = vectors.At(i, &doubtful[0]);
    if (four) {
      const __m512i second = vectors.At(i + kLanes, &doubtful[1]),
                    third = vectors.At(i + 2 * kLanes, &doubtful[2]),
                    fourth = vectors.At(i + 3 * kLanes, &doubtful[3]);
      _mm512_storeu_si512(
          out + i, Narrowed<std::is_signed_v<T>>(first, second, third, fourth, least, most));
    } else {
      const __m512i cut =
          Narrowed<std::is_signed_v<T>>(first, first, first, first, least, most);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm512_castsi512_si128(cut));
    }
    uint64_t all = _mm512_kunpackd(_mm512_kunpackw(doubtful[3], doubtful[2]),
                                   _mm512_kunpackw(doubtful[1], doubtful[0]));
    for (; __builtin_expect(all != 0, 0); all &= all - 1) {
      // If the fast path applies, bias and zero are merged into one offset, and half follows from
      // `down`: fewer tables mean fewer cache misses.
      const int64_t at = i + __builtin_ctzll(all), k = channel + (kEach ? at : 0);
      const int64_t down = how.down[k];
      out[at] = static_cast<T>(Rescaled(x[at], how.offset[k], 0, how.factor[k],
                                        int64_t{1} << (down - 1), down, how.rounding, zero, low,
                                        high));
    }
    i += four ? 4 * kLanes : kLanes;
  }
  return i;
}

template <typename T>
void RescaleTo8(const int32_t* x, int64_t count, const Rescaling& how, int64_t channel, bool each,
                int64_t zero, int64_t low, int64_t high, T* out) {
  static const bool has_vectors = __builtin_cpu_supports("avx512bw");
  int64_t done = 0;
  if (has_vectors) {
    done = each ? RescaleVectors<true>(x, count, how, channel, zero, low, high, out)
                : RescaleVectors<false>(x, count, how, channel, zero, low, high, out);
  }
  int32_t wide[8 * kBlock];
  for (; done < count; done += std::size(wide)) {
    const int64_t some = std::min<int64_t>(count - done, std::size(wide));
    RescaleRow(x + done, some, how, channel + (each ? done : 0), each, zero, low, high, wide);
    NarrowRow(wide, some, out + done);
  }
}

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
  // Shifts beyond the width of a word leave 0, or the sign.
  const int up = std::max(shift, 0), right = kFractionBits - std::min(shift, 0);
  // 8-bit numbers and a 31-bit offset do not wrap around.
  const bool near = std::abs(static_cast<int64_t>(add)) < kNear &&
                    std::abs(static_cast<int64_t>(from_zero)) < kNear;
  quick &= up == 0 && right < 63 && (from_zero == 0 || (narrow && near));
  bias.push_back(add);
  zero.push_back(from_zero);
  offset.push_back(
      static_cast<int32_t>(static_cast<uint32_t>(add) - static_cast<uint32_t>(from_zero)));
  scale.push_back(static_cast<float>(std::ldexp(static_cast<double>(multiplier) * kUnit, -right)));
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
  Repeated(&scale, times);
}

VECTORIZED void RescaleRow(const int32_t* x, int64_t count, const Rescaling& how, int64_t channel,
                           bool each, int64_t zero, int64_t low, int64_t high, int32_t* out) {
  each ? Rescale<true>(x, count, how, channel, zero, low, high, out)
       : Rescale<false>(x, count, how, channel, zero, low, high, out);
}

void RescaleRow(const int32_t* x, int64_t count, const Rescaling& how, int64_t channel, bool each,
                int64_t zero, int64_t low, int64_t high, uint8_t* out) {
  RescaleTo8(x, count, how, channel, each, zero, low, high, out);
}

void RescaleRow(const int32_t* x, int64_t count, const Rescaling& how, int64_t channel, bool each,
                int64_t zero, int64_t low, int64_t high, int8_t* out) {
  RescaleTo8(x, count, how, channel, each, zero, low, high, out);
}

VECTORIZED void AddRow(const int32_t* a, const int32_t* b, int64_t count, int64_t zero,
                       int64_t low, int64_t high, int32_t* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const int64_t total = static_cast<int64_t>(a[i]) + b[i] - zero;
    out[i] = static_cast<int32_t>(std::min(std::max(total, low), high));
  }
}

namespace {

// A number rounded to the nearest integer, or truncated.
template <Rounding kRounding>
inline __attribute__((always_inline)) float Whole(float ratio) {
  if (kRounding == Rounding::kEven) return std::rint(ratio);
  const float whole = std::trunc(ratio);
  if (kRounding == Rounding::kCut) return whole;
  return whole + (std::fabs(ratio - whole) >= 0.5f ? std::copysign(1.0f, ratio) : 0.0f);
}

template <Rounding kRounding>
inline __attribute__((always_inline)) void Quantize(const float* x, int64_t count, float scale,
                                                    int64_t zero, int64_t low, int64_t high,
                                                    int32_t* out) {
  // The limits are exact in float32: after clamping, nothing needs more than 32 bits.
  if (std::abs(low - zero) <= kFloatWhole && std::abs(high - zero) <= kFloatWhole) {
    const auto least = static_cast<float>(low - zero), most = static_cast<float>(high - zero);
    const auto after = static_cast<int32_t>(zero);
    constexpr float kAdd = kRounding == Rounding::kAway ? kBelowHalf : 0.0f;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const float ratio = std::min(std::max(least, x[i] / scale), most);
      const float near = kRounding == Rounding::kEven ? std::rint(ratio)
                                                      : ratio + std::copysign(kAdd, ratio);
      out[i] = static_cast<int32_t>(near) + after;
    }
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    // Values that no integer type of the result can represent are clamped before the conversion.
    const float ratio = std::min(std::max(x[i] / scale, -9e18f), 9e18f);
    const int64_t total = static_cast<int64_t>(Whole<kRounding>(ratio)) + zero;
    out[i] = static_cast<int32_t>(std::min(std::max(total, low), high));
  }
}

}  // namespace

VECTORIZED void QuantizeRow(const float* x, int64_t count, float scale, int64_t zero,
                            Rounding rounding, int64_t low, int64_t high, int32_t* out) {
  if (rounding == Rounding::kEven) {
    Quantize<Rounding::kEven>(x, count, scale, zero, low, high, out);
  } else if (rounding == Rounding::kAway) {
    Quantize<Rounding::kAway>(x, count, scale, zero, low, high, out);
  } else {
    Quantize<Rounding::kCut>(x, count, scale, zero, low, high, out);
  }
}

namespace {

template <bool kEach>
inline __attribute__((always_inline)) void Dequantize(const int32_t* x, int64_t count,
                                                      const float* scale, const int32_t* zero,
                                                      float* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const int64_t k = kEach ? i : 0;
    const auto moved =
        static_cast<int32_t>(static_cast<uint32_t>(x[i]) - static_cast<uint32_t>(zero[k]));
    out[i] = static_cast<float>(moved) * scale[k];
  }
}

}  // namespace

VECTORIZED void DequantizeRow(const int32_t* x, int64_t count, const float* scale,
                              const int32_t* zero, bool each, float* out) {
  if (each) {
    Dequantize<true>(x, count, scale, zero, out);
  } else {
    Dequantize<false>(x, count, scale, zero, out);
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
