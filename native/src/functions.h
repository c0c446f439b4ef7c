// Functions of float32 in plain arithmetic, for loops that the compiler vectorizes.
#ifndef BYOC_LAB_FUNCTIONS_H_
#define BYOC_LAB_FUNCTIONS_H_

#include <cstdint>
#include <cstring>

namespace byoc_lab {

#define INLINED inline __attribute__((always_inline))

// exp(x) in float32: results out of range become the nearest representable number; nan for nan.
// Computed as a polynomial (Cephes's expf) on [-ln(2) / 2, ln(2) / 2], times a power of 2.
INLINED float Exp(float x) {
  x = x > 88.0f ? 88.0f : x;
  x = x < -87.0f ? -87.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;  // the power, in the lowest bits
  const float power = shifted - 12582912.0f;
  const float r = (x - power * 0.693359375f) + power * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof(bits));
  return p * scale;
}

INLINED float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

// A polynomial (Cephes's tanhf) near 0, where 1 - 2 / (exp(2 x) + 1) would cancel.
INLINED float Tanh(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * x + x;
  const float far = 1.0f - 2.0f / (Exp(2.0f * x) + 1.0f);
  return z < 0.390625f ? near : far;
}

#undef INLINED

}  // namespace byoc_lab

#endif  // BYOC_LAB_FUNCTIONS_H_
