// Quantized numbers, real = scale * (integer - zero point), with the arithmetic of Relay's qnn
// operators. Scales and zero points are tensors: one number, or one for each index of `axis`.
#pragma once
#include <cmath>

#include "onednn_region.h"

// Of halves: up, away from zero, to the even neighbour; and no rounding.
enum class Rounding { up, nearest, to_even, to_zero };

static Type type_of(const memory& tensor) { return tensor.get_desc().get_data_type(); }

// Element i of a row-major tensor. A double holds every number of these types.
static double at(const memory& rows, size_t i) {
  const void* data = rows.get_data_handle();
  switch (type_of(rows)) {
    case Type::u8: return static_cast<const uint8_t*>(data)[i];
    case Type::s8: return static_cast<const int8_t*>(data)[i];
    case Type::s32: return static_cast<const int32_t*>(data)[i];
    default: return static_cast<const float*>(data)[i];
  }
}

static void put(const memory& rows, size_t i, double value) {
  void* data = rows.get_data_handle();
  switch (type_of(rows)) {
    case Type::u8: static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(value); break;
    case Type::s8: static_cast<int8_t*>(data)[i] = static_cast<int8_t>(value); break;
    case Type::s32: static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value); break;
    default: static_cast<float*>(data)[i] = static_cast<float>(value);
  }
}

static size_t count(const memory& tensor) {
  size_t product = 1;
  for (auto length : tensor.get_desc().get_dims()) product *= length;
  return product;
}

// What a tensor of scales or zero points has for index `channel` of the axis.
static double of(const memory& numbers, size_t channel) {
  return at(numbers, channel % count(numbers));
}

// a + b, wrapping around as int32 does.
static int32_t wrapped(double a, double b) {
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(a + b)));
}

static double cut(double value, double low, double high) {
  return std::min(std::max(value, low), high);
}

// A tensor like x: element i is compute(i, index of i along the axis).
template <typename Compute>
static memory each(const memory& x, Type type, size_t axis, Compute compute) {
  const Dims dims = x.get_desc().get_dims();
  memory made(plain(dims, type), cpu());
  size_t inner = 1;
  for (size_t n = axis + 1; n < dims.size(); ++n) inner *= dims[n];
  for (size_t i = 0; i < count(x); ++i) put(made, i, compute(i, i / inner % dims[axis]));
  return made;
}

static memory rows_of(const memory& x) {
  return as(x, plain(x.get_desc().get_dims(), type_of(x)));
}

static memory quantize(memory x, const memory& scale, const memory& zero, size_t axis,
                       Rounding rounding, double low, double high, Type type) {
  x = rows_of(x);
  return each(x, type, axis, [&](size_t i, size_t channel) {
    const float ratio = static_cast<float>(at(x, i)) / static_cast<float>(of(scale, channel));
    const double whole = rounding == Rounding::to_zero   ? std::trunc(ratio)
                         : rounding == Rounding::to_even ? std::rint(ratio)
                                                         : std::round(static_cast<double>(ratio));
    return cut(whole + of(zero, channel), low, high);
  });
}

static memory dequantize(memory x, const memory& scale, const memory& zero, size_t axis) {
  x = rows_of(x);
  return each(x, Type::f32, axis, [&](size_t i, size_t channel) {
    const int32_t moved = wrapped(at(x, i), -of(zero, channel));
    return static_cast<float>(moved) * static_cast<float>(of(scale, channel));
  });
}

// x * from / to by whole numbers: the ratio is multiplier * 2**(shift - 31).
static int64_t rescaled(int64_t x, float from, float to, Rounding rounding) {
  int shift = 0;
  const double fraction = std::frexp(static_cast<double>(from) / to, &shift);
  auto multiplier = static_cast<uint64_t>(std::floor(fraction * 0x1p31 + 0.5));
  if (multiplier == uint64_t{1} << 31) {
    multiplier >>= 1;
    ++shift;
  }
  const int up = std::max(shift, 0), down = 31 - std::min(shift, 0);
  const uint64_t factor = up > 63 ? 0 : multiplier << up;
  const uint64_t half = down > 64 ? 0 : uint64_t{1} << (down - 1);
  const uint64_t product = static_cast<uint64_t>(x) * factor;
  const bool less = rounding == Rounding::nearest && static_cast<int64_t>(product) < 0;
  const int64_t whole = static_cast<int64_t>(product + half - less) >> std::min(down, 63);
  const bool tied = rounding == Rounding::to_even && (product & (2 * half - 1)) == half;
  return whole - (tied ? whole & 1 : 0);
}

// bias: what is added first, or an empty memory.
static memory requantize(memory x, const memory& from, const memory& from_zero, const memory& to,
                         const memory& to_zero, const memory& bias, size_t axis, Rounding rounding,
                         double low, double high, Type type) {
  x = rows_of(x);
  return each(x, type, axis, [&](size_t i, size_t channel) {
    const int32_t sum = wrapped(at(x, i), bias ? of(bias, channel) : 0);
    const int64_t moved = sum - static_cast<int64_t>(of(from_zero, channel));
    const int64_t made = rescaled(moved, of(from, channel), of(to, 0), rounding);
    return cut(static_cast<double>(made + static_cast<int64_t>(of(to_zero, 0))), low, high);
  });
}

// Both in the scale of the result, then their sum.
static memory qadd(memory a, memory b, const memory& a_scale, const memory& a_zero,
                   const memory& b_scale, const memory& b_zero, const memory& scale,
                   const memory& zero, Rounding rounding, double low, double high, Type type) {
  a = rows_of(a);
  b = rows_of(b);
  const auto offset = static_cast<int64_t>(of(zero, 0));
  const auto side = [&](const memory& x, size_t i, const memory& from, const memory& from_zero) {
    const auto moved = static_cast<int64_t>(at(x, i)) - static_cast<int64_t>(of(from_zero, 0));
    const auto made = rescaled(moved, of(from, 0), of(scale, 0), rounding) + offset;
    return cut(static_cast<double>(made), -0x1p31, 0x1p31 - 1);
  };
  return each(a, type, 0, [&](size_t i, size_t) {
    return cut(side(a, i, a_scale, a_zero) + side(b, i, b_scale, b_zero) - offset, low, high);
  });
}
