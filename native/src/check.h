// Checks of external data: shapes, sizes and tensors. Each failure is a ValueError or TypeError
// that states the location, the argument, and what was found and expected.
#ifndef BYOC_LAB_CHECK_H_
#define BYOC_LAB_CHECK_H_

#include <tvm/ffi/tvm_ffi.h>

#include <dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

namespace byoc_lab {

namespace ffi = tvm::ffi;
using Dims = dnnl::memory::dims;
using DType = dnnl::memory::data_type;
using ffi::TensorView;

// oneDNN keeps sizes in `int` inside its kernels; within this bound, sums and products of two
// sizes or attributes cannot overflow int64_t either.
constexpr int64_t kMaxSize = (int64_t{1} << 31) - 1;
constexpr int64_t kMaxBytes = int64_t{1} << 47;  // per tensor: x86-64 address space
constexpr size_t kMaxRank = 6;
constexpr size_t kMaxOperands = 64;  // maximum for operators like concat and sum

// An operand's name in messages, its shape and its element type.
struct Operand {
  std::string name;
  Dims dims;
  DType dtype = DType::f32;
};

// NumPy's names of element types: "float32", "uint8", ... DTypeNamed raises a TypeError listing
// them for an unknown name.
std::string Name(DType dtype);
DType DTypeNamed(const std::string& where, const std::string& name);
int64_t Size(DType dtype);  // bytes of an element
bool IsInteger(DType dtype);

// The element type of a tensor. bfloat16 is passed natively or, since NumPy lacks it, as uint16
// bits. Raises TypeError for types that no kernel supports.
DType DTypeOf(const std::string& where, const std::string& name, const TensorView& tensor);

// "(1, 3, 224, 224)"
std::string Text(const Dims& dims);

// Number of elements; `dims` has passed CheckDims.
int64_t Count(const Dims& dims);

// Refuses more than kMaxRank dimensions, sizes outside [1, kMaxSize] and tensors that would not fit
// an address space as float32.
void CheckDims(const std::string& where, const Operand& operand);

// Refuses an operand without exactly `axes.size()` dimensions. `axes` names them in the message.
void CheckRank(const std::string& where, const Operand& operand,
               const std::vector<std::string>& axes);

// Refuses an operand with a shape other than `expected`; `why` states the origin of `expected`.
void CheckShape(const std::string& where, const Operand& operand, const Dims& expected,
                const std::string& why);

// Bytes of `operand`, which has passed CheckDims.
int64_t Bytes(const Operand& operand);

// Shape of `tensor`, checked by CheckDims.
Dims ShapeOf(const std::string& where, const std::string& name, const TensorView& tensor);

// The first element of a tensor on the CPU that is row-major without gaps, aligned to its elements,
// and has the dtype and shape of `expected`, which messages name. Anything else is refused before
// memory is touched.
void* DataOf(const std::string& where, const Operand& expected, const TensorView& tensor);

// The same for a tensor with axes in any order in memory, but without gaps.
void* DenseDataOf(const std::string& where, const Operand& expected, const TensorView& tensor);

// The axes of such a tensor in their order in memory, outermost first. None if it has gaps.
std::optional<std::vector<size_t>> AxesInMemory(const TensorView& tensor);

// Refuses an output that shares memory with an input: kernels read inputs while writing outputs.
void CheckNoOverlap(const std::string& where, const Operand& output, const void* output_data,
                    const Operand& input, const void* input_data);

}  // namespace byoc_lab

#endif  // BYOC_LAB_CHECK_H_
