// The number of OpenMP threads, which oneDNN reads when it creates a primitive.
#ifndef BYOC_LAB_THREADS_H_
#define BYOC_LAB_THREADS_H_

#include <cstdint>
#include <string>

namespace byoc_lab {

int64_t GetNumThreads();

// The number of threads worth starting for a loop of this library over `elements`, divided into
// `pieces`.
int64_t ThreadsFor(int64_t elements, int64_t pieces);

// Whether set_num_threads set the number in this thread, so that regions use exactly this number.
bool ThreadsStated();

// While it is alive, primitives created in this thread get `threads`.
class WithThreads {
 public:
  explicit WithThreads(int64_t threads);
  ~WithThreads();
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int64_t before_;
};

// OpenMP's threads do not survive a fork: code that then requests them waits forever. So a process
// that was forked after a run with several threads gets a RuntimeError when it requests several.
void CheckNotForked(const std::string& where, int64_t threads);

// Call it before a run with `threads`.
void NoteRun(int64_t threads);

}  // namespace byoc_lab

#endif  // BYOC_LAB_THREADS_H_
