"""Other right answers to "c-kernel"."""

from __future__ import annotations

ONE_LOOP = """
void bias_relu(const float* x, const float* bias, float* out, int channels, int pixels) {
  for (int i = 0; i < channels * pixels; i++) {
    float sum = x[i] + bias[i / pixels];
    out[i] = sum < 0 ? 0 : sum;
  }
}
"""

WITH_THE_LIBRARY = """
#include <math.h>
void bias_relu(const float* x, const float* bias, float* out, int channels, int pixels) {
  int c, p;
  for (c = 0; c < channels; ++c)
    for (p = 0; p < pixels; ++p, ++x, ++out) *out = fmaxf(*x + bias[c], 0.0f);
}
"""


def made_by_a_function():
    """In two passes over the array."""
    return """
    static void add(const float* x, float b, float* out, int n) { while (n--) *out++ = *x++ + b; }
    void bias_relu(const float* x, const float* bias, float* out, int channels, int pixels) {
      for (int c = 0; c < channels; c++) add(x + c * pixels, bias[c], out + c * pixels, pixels);
      for (int i = channels * pixels - 1; i >= 0; i--) if (out[i] < 0) out[i] = 0;
    }
    """


RIGHT = (ONE_LOOP, WITH_THE_LIBRARY, made_by_a_function)
