// Functions of plain loops, compiled for each kind of vector unit.
#ifndef BYOC_LAB_VECTORIZED_H_
#define BYOC_LAB_VECTORIZED_H_

// The loader takes the best version that the machine has. Names of instruction sets, not of
// processors: `arch=` asks whether this is that very processor.
#define VECTORIZED __attribute__((target_clones("avx512f", "avx2", "default")))

#endif  // BYOC_LAB_VECTORIZED_H_
