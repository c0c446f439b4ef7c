// What every file that ccompiler writes needs: arguments, checked before memory is touched.
// TVM-FFI calls a C function with an array of tagged values: a DLTensor, or a tensor object, which is
// a header with a DLTensor behind it. On an error the function sets it and returns -1.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

static int argument_count(int32_t found, int32_t expected) {
  if (found == expected) return 1;
  TVMFFIErrorSetRaisedFromCStr("TypeError", "ccompiler: wrong number of tensors");
  return 0;
}

static int out_of_memory(void) {
  TVMFFIErrorSetRaisedFromCStr("MemoryError", "ccompiler: cannot allocate temporaries");
  return -1;
}

// The elements of argument `n`, a row-major float32 tensor of `shape` on the CPU; NULL otherwise.
static float* tensor_argument(const TVMFFIAny* args, int n, const int64_t* shape, int32_t ndim) {
  const DLTensor* tensor = NULL;
  if (args[n].type_index == kTVMFFIDLTensorPtr) tensor = (const DLTensor*)args[n].v_ptr;
  if (args[n].type_index == kTVMFFITensor) tensor = (const DLTensor*)(args[n].v_obj + 1);
  if (tensor == NULL || tensor->data == NULL) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "ccompiler: expected tensors");
    return NULL;
  }
  int right = tensor->dtype.code == kDLFloat && tensor->dtype.bits == 32 &&
              tensor->dtype.lanes == 1 && tensor->device.device_type == kDLCPU &&
              tensor->ndim == ndim;
  int64_t stride = 1;
  for (int32_t axis = ndim - 1; right && axis >= 0; --axis) {
    right = tensor->shape[axis] == shape[axis] &&
            (tensor->strides == NULL || shape[axis] == 1 || tensor->strides[axis] == stride);
    stride *= shape[axis];
  }
  if (right) return (float*)((char*)tensor->data + tensor->byte_offset);
  TVMFFIErrorSetRaisedFromCStr(
      "ValueError", "ccompiler: a tensor has another dtype, device, shape or layout than compiled for");
  return NULL;
}
