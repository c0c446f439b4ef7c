#include "threads.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "check.h"

namespace byoc_lab {

namespace {

thread_local bool stated = false;
std::atomic<bool> ran_with_threads{false};
std::atomic<bool> lost_threads{false};  // in a child of a process that ran with threads

const int watching = pthread_atfork(nullptr, nullptr, [] { lost_threads = ran_with_threads.load(); });

}  // namespace

int64_t GetNumThreads() { return omp_get_max_threads(); }

int64_t ThreadsFor(int64_t elements, int64_t pieces) {
  constexpr int64_t kWorthThread = 1 << 15;  // below this, starting a thread costs more
  return std::max<int64_t>(1, std::min({GetNumThreads(), elements / kWorthThread, pieces}));
}

bool ThreadsStated() { return stated; }

WithThreads::WithThreads(int64_t threads) : before_(GetNumThreads()) {
  omp_set_num_threads(static_cast<int>(threads));
}

WithThreads::~WithThreads() { omp_set_num_threads(static_cast<int>(before_)); }

void CheckNotForked(const std::string& where, int64_t threads) {
  if (threads == 1 || !lost_threads) return;
  TVM_FFI_THROW(RuntimeError) << where << ": this process was forked from one in which DNNL had run "
                              << "with several threads, which are gone here. Start processes with "
                              << "multiprocessing's method 'spawn', or call set_num_threads(1) in "
                              << "this one and create its regions again";
}

void NoteRun(int64_t threads) {
  if (threads > 1) ran_with_threads = true;
}

namespace {

void RestoreThreads(int64_t threads, bool were_stated) {
  omp_set_num_threads(static_cast<int>(threads));
  stated = were_stated;
}

// Applies only to the calling thread, and to primitives created afterwards: OpenMP keeps the number
// for each thread, and a primitive keeps the number it was created with.
void SetNumThreads(int64_t threads) {
  constexpr int64_t kMost = 1024;
  if (threads < 1 || threads > kMost) {
    TVM_FFI_THROW(ValueError) << "byoc_lab.dnnl.set_num_threads: threads: expected a value in [1, "
                              << kMost << "], found " << threads;
  }
  RestoreThreads(threads, true);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("byoc_lab.dnnl.get_num_threads", GetNumThreads)
      .def("byoc_lab.dnnl.set_num_threads", SetNumThreads)
      .def("byoc_lab.dnnl.threads_stated", ThreadsStated)
      .def("byoc_lab.dnnl.restore_num_threads", RestoreThreads);
}

}  // namespace byoc_lab
