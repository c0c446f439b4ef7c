// TVM_DLL_EXPORT_TYPED_FUNC, with which generated C++ exports `int function(DLTensor*, ...)`.
// Source: apache/tvm 0.16, include/tvm/runtime/packed_func.h (what the macro promises).
#ifndef BYOC_LAB_PACKED_FUNC_H_
#define BYOC_LAB_PACKED_FUNC_H_

#include <tvm/runtime/c_runtime_api.h>

#include <utility>

namespace byoc_lab {

template <typename Result, typename... Args, size_t... N>
int call_typed(Result (*function)(Args...), TVMValue* values, int count,
               std::index_sequence<N...>) {
  if (count != static_cast<int>(sizeof...(Args))) return -1;
  return function(static_cast<Args>(values[N].v_handle)...);
}

template <typename Result, typename... Args>
int call_typed(Result (*function)(Args...), TVMValue* values, int count) {
  return call_typed(function, values, count, std::index_sequence_for<Args...>());
}

}  // namespace byoc_lab

#define TVM_DLL_EXPORT_TYPED_FUNC(name, function)                                         \
  extern "C" TVM_DLL int name(TVMValue* values, int*, int count, TVMValue*, int*) {       \
    return byoc_lab::call_typed(function, values, count);                                 \
  }

#endif  // BYOC_LAB_PACKED_FUNC_H_
