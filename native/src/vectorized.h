// Functions with plain loops, compiled for each kind of vector unit.
#ifndef BYOC_LAB_VECTORIZED_H_
#define BYOC_LAB_VECTORIZED_H_

// The loader selects the best version for the machine. These are names of instruction sets, not of
// processors: `arch=` would test for exactly this processor.
#define VECTORIZED __attribute__((target_clones("avx512f", "avx2", "default")))

#endif  // BYOC_LAB_VECTORIZED_H_
