// The number of OpenMP threads, which oneDNN reads when it creates a primitive.
#ifndef BYOC_LAB_THREADS_H_
#define BYOC_LAB_THREADS_H_

#include <cstdint>
#include <string>

namespace byoc_lab {

int64_t GetNumThreads();

// How many of them are worth starting for a loop of this library over `elements`, which falls into
// `pieces`.
int64_t ThreadsFor(int64_t elements, int64_t pieces);

// Whether set_num_threads gave the number in this thread, so that regions get exactly so many.
bool ThreadsStated();

// While it lives, primitives created in this thread get `threads`.
class WithThreads {
 public:
  explicit WithThreads(int64_t threads);
  ~WithThreads();
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int64_t before_;
};

// OpenMP's threads do not survive a fork: whoever then asks for them waits forever. So a process
// that was forked after a run with several threads gets a RuntimeError when it asks for several.
void CheckNotForked(const std::string& where, int64_t threads);

// To be called before a run with `threads`.
void NoteRun(int64_t threads);

}  // namespace byoc_lab

#endif  // BYOC_LAB_THREADS_H_
