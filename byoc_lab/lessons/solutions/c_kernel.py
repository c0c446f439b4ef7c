"""Answers to "c-kernel"."""

from __future__ import annotations

answer = """
void bias_relu(const float* x, const float* bias, float* out, int channels, int pixels) {
  for (int c = 0; c < channels; ++c) {
    for (int p = 0; p < pixels; ++p) {
      float sum = x[c * pixels + p] + bias[c];
      out[c * pixels + p] = sum > 0 ? sum : 0;
    }
  }
}
"""

# Typical mistakes

WRONG = {
    "no-compile": answer.replace("float sum", "let sum"),
    "crashed": answer.replace("x[c * pixels + p]", "x[100000000L * (c + 10)]"),
    "ended": "void _Exit(int);" + answer.replace("float sum", "_Exit(0); float sum"),
    "timed-out": answer.replace("++p", "p += 0"),
    "unwritten": answer.replace("c < channels", "c < channels - 1"),
    "reads-out": answer.replace("] = sum > 0 ? sum : 0", "] += sum"),
    "past-end": answer.replace("c < channels", "c <= channels"),
    "no-relu": answer.replace("sum > 0 ? sum : 0", "sum"),
    "bias": answer.replace("bias[c]", "bias[0]"),
    "changed-input": answer.replace("const ", "").replace("float sum =", "float sum = x[0] ="),
    "numbers": answer.replace("] + bias", "] - bias"),
    "kind": answer.encode(),
    "no-symbol": answer.replace("bias_relu", "biasRelu"),
}
