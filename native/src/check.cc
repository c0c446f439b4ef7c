#include "check.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

namespace byoc_lab {
namespace {

struct Element {
  DType dtype;
  const char* name;
  int64_t bytes;
};

constexpr Element kElements[] = {
    {DType::f32, "float32", 4}, {DType::bf16, "bfloat16", 2}, {DType::u8, "uint8", 1},
    {DType::s8, "int8", 1},     {DType::s32, "int32", 4},
};

const Element& Find(DType dtype) {
  for (const Element& element : kElements) {
    if (element.dtype == dtype) return element;
  }
  TVM_FFI_THROW(TypeError) << "oneDNN's data type " << static_cast<int>(dtype) << " has no name";
  TVM_FFI_UNREACHABLE();
}

std::string KnownDTypes() {
  std::string names;
  for (const Element& element : kElements) {
    names += (names.empty() ? "" : ", ") + std::string(element.name);
  }
  return names;
}

// DLPack's representation of the type.
std::optional<DType> Read(const DLDataType& found) {
  const auto is = [&](int code, int bits) {
    return found.code == code && found.bits == bits && found.lanes == 1;
  };
  if (is(kDLFloat, 32)) return DType::f32;
  if (is(kDLBfloat, 16) || is(kDLUInt, 16)) return DType::bf16;
  if (is(kDLUInt, 8)) return DType::u8;
  if (is(kDLInt, 8)) return DType::s8;
  if (is(kDLInt, 32)) return DType::s32;
  return std::nullopt;
}

}  // namespace

std::string Name(DType dtype) { return Find(dtype).name; }

int64_t Size(DType dtype) { return Find(dtype).bytes; }

bool IsInteger(DType dtype) {
  return dtype == DType::u8 || dtype == DType::s8 || dtype == DType::s32;
}

DType DTypeNamed(const std::string& where, const std::string& name) {
  for (const Element& element : kElements) {
    if (name == element.name) return element.dtype;
  }
  TVM_FFI_THROW(TypeError) << where << ": dtype: expected " << KnownDTypes() << ", found '"
                           << name << "'";
  TVM_FFI_UNREACHABLE();
}

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

int64_t Bytes(const Operand& operand) { return Count(operand.dims) * Size(operand.dtype); }

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

DType DTypeOf(const std::string& where, const std::string& name, const TensorView& tensor) {
  const auto found = Read(tensor.dtype());
  if (!found.has_value()) {
    TVM_FFI_THROW(TypeError) << where << ": " << name << ": expected dtype " << KnownDTypes()
                             << ", found " << ffi::DLDataTypeToString(tensor.dtype());
  }
  return *found;
}

std::optional<std::vector<size_t>> AxesInMemory(const TensorView& tensor) {
  const auto shape = tensor.shape(), strides = tensor.strides();
  std::vector<size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.end(),
                   [&](size_t i, size_t j) { return strides[i] > strides[j]; });
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    // The stride of an axis with one element is arbitrary.
    if (shape[axes[i]] != 1 && strides[axes[i]] != stride) return std::nullopt;
    stride *= shape[axes[i]];
  }
  return axes;
}

namespace {

// DataOf without its check of the order of axes.
void* AnyDataOf(const std::string& where, const Operand& expected, const TensorView& tensor) {
  const std::string& name = expected.name;
  const auto found = Read(tensor.dtype());
  if (!found.has_value() || *found != expected.dtype) {
    TVM_FFI_THROW(TypeError) << where << ": " << name << ": expected dtype "
                             << Name(expected.dtype) << ", found "
                             << ffi::DLDataTypeToString(tensor.dtype());
  }
  const DLDeviceType device = tensor.device().device_type;
  if (device != kDLCPU && device != kDLCUDAHost && device != kDLROCMHost) {
    TVM_FFI_THROW(ValueError) << where << ": " << name << ": expected a tensor in CPU memory, "
                              << "found device type " << static_cast<int>(device)
                              << " (DLPack's numbering); copy it to the CPU first";
  }
  CheckShape(where, {name, Dims(tensor.shape().begin(), tensor.shape().end())}, expected.dims,
             "from the other arguments");
  const uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data_ptr());
  if (address == 0) {
    TVM_FFI_THROW(ValueError) << where << ": " << name << ": expected data, found a null pointer";
  }
  const uintptr_t alignment = static_cast<uintptr_t>(Size(expected.dtype));
  if ((address + tensor.byte_offset()) % alignment != 0) {
    TVM_FFI_THROW(ValueError) << where << ": " << name << ": expected data aligned to "
                              << alignment << " bytes";
  }
  return reinterpret_cast<void*>(address + tensor.byte_offset());
}

}  // namespace

void* DataOf(const std::string& where, const Operand& expected, const TensorView& tensor) {
  void* data = AnyDataOf(where, expected, tensor);
  if (!tensor.IsContiguous()) {
    TVM_FFI_THROW(ValueError) << where << ": " << expected.name << ": expected a row-major contiguous "
                              << "tensor, found strides "
                              << Text(Dims(tensor.strides().begin(), tensor.strides().end()))
                              << " for shape " << Text(expected.dims)
                              << "; numpy.ascontiguousarray makes it contiguous";
  }
  return data;
}

void* DenseDataOf(const std::string& where, const Operand& expected, const TensorView& tensor) {
  void* data = AnyDataOf(where, expected, tensor);
  if (!AxesInMemory(tensor).has_value()) {
    TVM_FFI_THROW(ValueError) << where << ": " << expected.name << ": expected a tensor without "
                              << "gaps, found strides "
                              << Text(Dims(tensor.strides().begin(), tensor.strides().end()))
                              << " for shape " << Text(expected.dims)
                              << "; numpy.ascontiguousarray makes it contiguous";
  }
  return data;
}

void CheckNoOverlap(const std::string& where, const Operand& output, const void* output_data,
                    const Operand& input, const void* input_data) {
  const auto* written = static_cast<const char*>(output_data);
  const auto* read = static_cast<const char*>(input_data);
  const std::less<const char*> before;  // defined for pointers into different arrays too
  if (!before(written, read + Bytes(input)) || !before(read, written + Bytes(output))) return;
  TVM_FFI_THROW(ValueError) << where << ": " << output.name << " shares memory with " << input.name
                            << "; pass a separate output";
}

}  // namespace byoc_lab
