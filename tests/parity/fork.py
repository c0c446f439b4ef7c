"""Where the oracle, a fork of TVM 0.16, differs from TVM 0.16 itself: the whole list, one place.

1. Tuple targets. AnnotateTarget gives a tuple the target of its consumer or of its first field.
   TVM 0.16 gives it the target that all its fields agree on, a plain variable or constant
   counting as "default", and "default" where they disagree. The golden files named below hold
   what TVM 0.16 does; `cases/upstream` has it as text.
2. Parameter names. PartitionGraph names a parameter after the variable that is passed for it
   (`%data`), where TVM 0.16 says `%dnnl_0_i0` for all. Names of bound variables are no part of
   structural equality, so comparing results needs no exception; the names of free variables in
   error messages do differ, so messages are compared without them.
3. Roots. Its SimplifyExpr has no rule `divide(%x, sqrt(%y))` -> `multiply(%x, rsqrt(%y))`, which
   TVM 0.16 has; no case of SimplifyExpr divides by a root.
4. Layouts. Its `split` has no rule of layouts; TVM 0.16's keeps the layout and turns the axis. No
   case of ConvertLayout splits; tests/passes/layout/test_convert_layout.py has what TVM 0.16 does.
5. Quantized operators. It cannot build qnn.avg_pool2d, qnn.leaky_relu and qnn.softmax, so its
   FakeQuantizationToInteger leaves regions with these alone.
   tests/passes/quantize/test_fake_quantization_to_integer.py compares numbers.
"""

from __future__ import annotations

# Golden file -> the case that holds TVM 0.16's own result.
TUPLE_TARGETS = {
    f"AnnotateTarget/annotatable_{name}.relay": f"upstream/{name}"
    for name in ("concatenated_variables", "concatenated_mixture", "tuple_result")
}
