#include "threads.h"

#include <omp.h>

#include "check.h"

namespace byoc_lab {

int64_t GetNumThreads() { return omp_get_max_threads(); }

namespace {

// Concerns the calling thread alone, and what is created afterwards: OpenMP keeps the number for
// each thread, and a primitive keeps the one it was created with.
void SetNumThreads(int64_t threads) {
  constexpr int64_t kMost = 1024;
  if (threads < 1 || threads > kMost) {
    TVM_FFI_THROW(ValueError) << "byoc_lab.dnnl.set_num_threads: threads: expected a value in [1, "
                              << kMost << "], found " << threads;
  }
  omp_set_num_threads(static_cast<int>(threads));
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("byoc_lab.dnnl.get_num_threads", GetNumThreads)
      .def("byoc_lab.dnnl.set_num_threads", SetNumThreads);
}

}  // namespace byoc_lab
