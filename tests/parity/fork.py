"""All differences between the oracle, which is a fork of TVM 0.16, and TVM 0.16 itself.

1. Tuple targets. AnnotateTarget gives a tuple the target of its consumer or of its first field.
   TVM 0.16 gives it the common target of all its fields, where a plain variable or constant
   counts as "default"; if the fields disagree, "default". The golden files named below have
   TVM 0.16's results; `cases/upstream` has them as text.
2. Parameter names. PartitionGraph names a parameter after the variable that is passed for it
   (`%data`), whereas TVM 0.16 names it `%dnnl_0_i0`. Structural equality ignores names of bound
   variables, so comparing results needs no exception. Names of free variables in error messages
   differ, so messages are compared without them.
3. Roots. SimplifyExpr lacks TVM 0.16's rule `divide(%x, sqrt(%y))` -> `multiply(%x, rsqrt(%y))`;
   no case of SimplifyExpr divides by a root.
4. Layouts. `split` lacks a layout rule; TVM 0.16's rule keeps the layout and converts the axis. No
   case of ConvertLayout splits; tests/passes/layout/test_convert_layout.py has TVM 0.16's result.
5. Quantized operators. The fork cannot build qnn.avg_pool2d, qnn.leaky_relu and qnn.softmax, so its
   FakeQuantizationToInteger does not rewrite regions with these operators.
   tests/passes/quantize/test_fake_quantization_to_integer.py compares numbers.
"""

from __future__ import annotations

# Golden file -> the case that holds TVM 0.16's own result.
TUPLE_TARGETS = {
    f"AnnotateTarget/annotatable_{name}.relay": f"upstream/{name}"
    for name in ("concatenated_variables", "concatenated_mixture", "tuple_result")
}
