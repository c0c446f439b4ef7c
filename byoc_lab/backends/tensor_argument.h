// What every generated file needs: arguments, checked before memory is touched.
// TVM-FFI calls a C function with an array of tagged values: a DLTensor, or a tensor object, which is
// a header with a DLTensor behind it. On an error the function sets it and returns -1.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

// The three of them name the function that uses them, which has the name of its region.
#define argument_count(...) argument_count_of(__func__, __VA_ARGS__)
#define tensor_argument(...) tensor_argument_of(__func__, __VA_ARGS__)
#define out_of_memory() out_of_memory_of(__func__)

// Sets the error with which a function that then returns -1 fails. `function`: __func__. `kind`: the
// name of the error's class, such as "RegionError". `message`: what was found and what was expected.
static void set_region_error(const char* function, const char* kind, const char* message) {
  static const char* const prefixes[] = {"__tvm_ffi_", "code_of_"};  // see GUARD of c_library
  char text[512];
  for (int n = 0; n < 2; ++n) {
    size_t skipped = strlen(prefixes[n]);
    if (strncmp(function, prefixes[n], skipped) == 0) function += skipped;
  }
  snprintf(text, sizeof(text), "region @%.200s: %s", function, message);
  TVMFFIErrorSetRaisedFromCStr(kind, text);
}

static int argument_count_of(const char* function, int32_t found, int32_t expected) {
  if (found == expected) return 1;
  char text[120];
  snprintf(text, sizeof(text), "its code expects %d tensors, inputs and outputs together, found %d",
           (int)expected, (int)found);
  set_region_error(function, "RegionError", text);
  return 0;
}

static int out_of_memory_of(const char* function) {
  set_region_error(function, "MemoryError", "its code cannot allocate temporaries");
  return -1;
}

static size_t write_shape(char* text, size_t size, const int64_t* shape, int32_t ndim) {
  size_t used = (size_t)snprintf(text, size, "(");
  for (int32_t axis = 0; axis < ndim && used < size; ++axis)
    used += (size_t)snprintf(text + used, size - used, axis ? ", %lld" : "%lld", (long long)shape[axis]);
  if (used < size) used += (size_t)snprintf(text + used, size - used, ndim == 1 ? ",)" : ")");
  return used < size ? used : size;
}

// The elements of argument `n`, a row-major float32 tensor of `shape` on the CPU; NULL otherwise.
static float* tensor_argument_of(const char* function, const TVMFFIAny* args, int n,
                                 const int64_t* shape, int32_t ndim) {
  const DLTensor* tensor = NULL;
  if (args[n].type_index == kTVMFFIDLTensorPtr) tensor = (const DLTensor*)args[n].v_ptr;
  if (args[n].type_index == kTVMFFITensor) tensor = (const DLTensor*)(args[n].v_obj + 1);
  if (tensor == NULL || tensor->data == NULL) {
    set_region_error(function, "RegionError", "its code expects tensors, and an argument is none");
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
  char text[300];
  size_t size = sizeof(text);
  size_t used = (size_t)snprintf(text, size, "its code expects argument %d as row-major float32 of shape ", n);
  used += write_shape(text + used, size - used, shape, ndim);
  if (used < size) used += (size_t)snprintf(text + used, size - used, " on the CPU, found shape ");
  if (used < size) used += write_shape(text + used, size - used, tensor->shape, tensor->ndim);
  if (used < size)
    snprintf(text + used, size - used, " of %d bits%s", (int)tensor->dtype.bits,
             tensor->dtype.code == kDLFloat ? "" : " and another kind of number");
  set_region_error(function, "RegionError", text);
  return NULL;
}
