// The number of OpenMP threads, which oneDNN reads when it creates a primitive.
#ifndef BYOC_LAB_THREADS_H_
#define BYOC_LAB_THREADS_H_

#include <cstdint>

namespace byoc_lab {

int64_t GetNumThreads();

}  // namespace byoc_lab

#endif  // BYOC_LAB_THREADS_H_
