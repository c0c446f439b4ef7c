"""Passes on functions of external compilers, as used by TVM's CUTLASS and Collage."""
