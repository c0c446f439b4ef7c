"""Passes on the functions of other compilers, as TVM's CUTLASS and Collage use them."""
