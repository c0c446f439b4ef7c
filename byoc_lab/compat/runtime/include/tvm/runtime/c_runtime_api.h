// What the C of a code generator of TVM 0.5 to 0.16 calls and is called by, on TVM-FFI.
// Source: apache/tvm 0.16, include/tvm/runtime/c_runtime_api.h (names, numbers, signatures).
#ifndef BYOC_LAB_C_RUNTIME_API_H_
#define BYOC_LAB_C_RUNTIME_API_H_

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <tvm/ffi/c_api.h>

#ifdef __cplusplus
#define TVM_EXTERN_C extern "C"
#else
#define TVM_EXTERN_C
#endif
#define TVM_DLL __attribute__((visibility("default")))
#define TVM_WEAK __attribute__((weak))

typedef DLTensor* DLTensorHandle;
typedef DLTensor* TVMArrayHandle;
typedef DLDevice TVMContext;

typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
  DLDataType v_type;
  DLDevice v_device;
} TVMValue;

enum { kTVMDLTensorHandle = 7, kTVMNDArrayHandle = 13 };

typedef int (*BYOCLabPackedCFunc)(TVMValue*, int*, int, TVMValue*, int*);

static int byoc_lab_error_is_set = 0;

static inline void TVMAPISetLastError(const char* message) {
  byoc_lab_error_is_set = 1;
  TVMFFIErrorSetRaisedFromCStr("RuntimeError", message);
}

static inline void* TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t bytes,
                                             int dtype_code, int dtype_bits) {
  (void)device_type, (void)device_id, (void)dtype_code, (void)dtype_bits;
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline int TVMBackendFreeWorkspace(int device_type, int device_id, void* workspace) {
  (void)device_type, (void)device_id;
  free(workspace);
  return 0;
}

// TVM 0.16 gives such a function tensors whose data begin where `data` points, and no strides for
// rows that lie close together; TVM-FFI's may have an offset, and always have strides.
static inline DLTensor byoc_lab_plain_tensor(const DLTensor* from) {
  DLTensor plain = *from;
  int64_t stride = 1;
  int close = 1;
  for (int32_t axis = from->ndim - 1; axis >= 0 && from->strides != NULL; --axis) {
    close = close && (from->shape[axis] == 1 || from->strides[axis] == stride);
    stride *= from->shape[axis];
  }
  plain.data = (char*)from->data + from->byte_offset;
  plain.byte_offset = 0;
  if (close) plain.strides = NULL;
  return plain;
}

// The call of a packed function of TVM 0.16 with the arguments of one of TVM-FFI: tensors.
static inline int byoc_lab_call_packed(BYOCLabPackedCFunc function, const char* name,
                                       const TVMFFIAny* args, int32_t count) {
  size_t room = (size_t)(count > 0 ? count : 1);
  DLTensor* tensors = (DLTensor*)calloc(room, sizeof(DLTensor));
  TVMValue* values = (TVMValue*)calloc(room, sizeof(TVMValue));
  int* codes = (int*)calloc(room, sizeof(int));
  int status = tensors && values && codes ? 0 : -1;
  if (status != 0) TVMFFIErrorSetRaisedFromCStr("MemoryError", "cannot allocate the arguments");
  for (int32_t n = 0; n < count && status == 0; ++n) {
    const DLTensor* given = NULL;
    if (args[n].type_index == kTVMFFIDLTensorPtr) given = (const DLTensor*)args[n].v_ptr;
    if (args[n].type_index == kTVMFFITensor) given = (const DLTensor*)(args[n].v_obj + 1);
    if (given == NULL) {
      const char* parts[] = {"external function ", name, ": expected tensors"};
      TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 3);
      status = -1;
    } else {
      tensors[n] = byoc_lab_plain_tensor(given);
      values[n].v_handle = &tensors[n];
      codes[n] = kTVMDLTensorHandle;
    }
  }
  if (status == 0) {
    TVMValue result = {0};
    int result_code = 0;
    byoc_lab_error_is_set = 0;
    status = function(values, codes, count, &result, &result_code);
    if (status != 0 && !byoc_lab_error_is_set) {
      const char* parts[] = {"external function ", name, " returned an error"};
      TVMFFIErrorSetRaisedFromCStrParts("RuntimeError", parts, 3);
    }
    if (status != 0) status = -1;
  }
  free(codes);
  free(values);
  free(tensors);
  return status;
}

// Stands after the source: makes its function `symbol` one that TVM-FFI finds.
#define BYOC_LAB_EXPORT(symbol)                                                                   \
  TVM_EXTERN_C TVM_DLL int __tvm_ffi_##symbol(void* self, const TVMFFIAny* args, int32_t count,   \
                                              TVMFFIAny* result) {                                \
    (void)self, (void)result;                                                                     \
    return byoc_lab_call_packed((BYOCLabPackedCFunc)symbol, #symbol, args, count);                \
  }

#endif  // BYOC_LAB_C_RUNTIME_API_H_
