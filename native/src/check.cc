#include "check.h"

#include <cstdint>
#include <functional>
#include <numeric>

namespace byoc_lab {

std::string Text(const Dims& dims) {
  std::string text = "(";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + (dims.size() == 1 ? ",)" : ")");
}

int64_t Count(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

void CheckDims(const std::string& where, const Operand& operand) {
  const Dims& dims = operand.dims;
  if (dims.size() > kMaxRank) {
    TVM_FFI_THROW(ValueError) << where << ": " << operand.name << ": expected at most " << kMaxRank
                              << " dimensions, found " << dims.size() << ", shape " << Text(dims);
  }
  int64_t bytes = sizeof(float);
  for (int64_t size : dims) {
    if (size < 1 || size > kMaxSize) {
      TVM_FFI_THROW(ValueError) << where << ": " << operand.name << ": expected every dimension in "
                                << "[1, " << kMaxSize << "], found shape " << Text(dims);
    }
    if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > kMaxBytes) {
      TVM_FFI_THROW(ValueError) << where << ": " << operand.name << ": shape " << Text(dims)
                                << " is too large: a float32 tensor of it fits no address space";
    }
  }
}

void CheckRank(const std::string& where, const Operand& operand,
               const std::vector<std::string>& axes) {
  if (operand.dims.size() == axes.size()) return;
  std::string names;
  for (const std::string& axis : axes) names += (names.empty() ? "" : ", ") + axis;
  TVM_FFI_THROW(ValueError) << where << ": " << operand.name << ": expected " << axes.size()
                            << " dimensions (" << names << "), found " << operand.dims.size()
                            << ", shape " << Text(operand.dims);
}

void CheckShape(const std::string& where, const Operand& operand, const Dims& expected,
                const std::string& why) {
  if (operand.dims == expected) return;
  TVM_FFI_THROW(ValueError) << where << ": " << operand.name << ": expected shape "
                            << Text(expected) << " (" << why << "), found " << Text(operand.dims);
}

Dims ShapeOf(const std::string& where, const std::string& name, const TensorView& tensor) {
  Operand operand{name, Dims(tensor.shape().begin(), tensor.shape().end())};
  CheckDims(where, operand);
  return operand.dims;
}

float* DataOf(const std::string& where, const std::string& name, const TensorView& tensor,
              const Dims& expected) {
  const DLDataType dtype = tensor.dtype();
  if (dtype.code != kDLFloat || dtype.bits != 32 || dtype.lanes != 1) {
    TVM_FFI_THROW(TypeError) << where << ": " << name << ": expected dtype float32, found "
                             << ffi::DLDataTypeToString(dtype);
  }
  const DLDeviceType device = tensor.device().device_type;
  if (device != kDLCPU && device != kDLCUDAHost && device != kDLROCMHost) {
    TVM_FFI_THROW(ValueError) << where << ": " << name << ": expected a tensor in CPU memory, "
                              << "found device type " << static_cast<int>(device)
                              << " (DLPack's numbering); copy it to the CPU first";
  }
  CheckShape(where, {name, Dims(tensor.shape().begin(), tensor.shape().end())}, expected,
             "from the other arguments");
  if (!tensor.IsContiguous()) {
    TVM_FFI_THROW(ValueError) << where << ": " << name << ": expected a row-major contiguous "
                              << "tensor, found strides "
                              << Text(Dims(tensor.strides().begin(), tensor.strides().end()))
                              << " for shape " << Text(expected)
                              << "; numpy.ascontiguousarray makes it contiguous";
  }
  const uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data_ptr());
  if (address == 0) {
    TVM_FFI_THROW(ValueError) << where << ": " << name << ": expected data, found a null pointer";
  }
  if ((address + tensor.byte_offset()) % alignof(float) != 0) {
    TVM_FFI_THROW(ValueError) << where << ": " << name << ": expected data aligned to "
                              << alignof(float) << " bytes";
  }
  return reinterpret_cast<float*>(address + tensor.byte_offset());
}

void CheckNoOverlap(const std::string& where, const std::string& output, const float* output_data,
                    int64_t output_count, const std::string& input, const float* input_data,
                    int64_t input_count) {
  const std::less<const float*> before;  // defined for pointers into different arrays too
  if (!before(output_data, input_data + input_count) ||
      !before(input_data, output_data + output_count)) {
    return;
  }
  TVM_FFI_THROW(ValueError) << where << ": " << output << " shares memory with " << input
                            << "; pass an output of its own";
}

}  // namespace byoc_lab
