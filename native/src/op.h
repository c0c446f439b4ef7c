// Definition of an operator: its name, operands and attributes as data, its shape rule, and how its
// oneDNN primitive is created. One file in ops/ defines one operator; kernels and graphs both use
// these definitions.
#ifndef BYOC_LAB_OP_H_
#define BYOC_LAB_OP_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attrs.h"
#include "check.h"
#include "layout.h"

namespace byoc_lab {

// The operands of an operator. `where` begins every message.
struct OpCall {
  std::string where;
  std::vector<Operand> inputs;
  Attrs attrs;
  DType result = DType::f32;  // the element type of the result
  std::string result_name = "the result";  // used in messages
  Layouts layouts = Layouts::kBlocked;  // for convolutions, which have a choice
  bool constant_weight = false;  // the second operand is a constant, which is packed once
  // Read the weight from its end: the part that the previous reader read last is still in the cache.
  bool backwards = false;
};

// An operation on the result, fused into the primitive if oneDNN can.
struct PostOp {
  enum class Kind { kEltwise, kBinary, kSum };
  Kind kind = Kind::kEltwise;
  std::string alg = "";   // eltwise and binary
  float alpha = 0;        // eltwise
  float beta = 0;         // eltwise
  float scale = 1;        // sum: result + scale * input
  int input = -1;         // binary and sum: tensor id
  Dims input_dims = {};   // binary and sum
  DType input_dtype = DType::f32;
  std::string Name() const { return kind == Kind::kSum ? "sum" : alg; }
};

// A kernel of this library instead of one of oneDNN.
class OwnKernel {
 public:
  virtual ~OwnKernel() = default;
  // Operands in the operator's order, then the result.
  virtual void Run(const std::vector<void*>& operands) const = 0;
};

// The operands for rows of a product's sums. sums: address of the first row. memory: scratch memory
// of the thread that computes the rows.
struct RowsOperands {
  const void *left, *right;
  int32_t* sums;
  char* memory;
};

// A product with int32 sums whose rows (for a convolution: pixels with their channels) can be
// computed separately. The operands of `Run` are left, right, sums, then memory for each of its
// threads.
class RowsKernel : public OwnKernel {
 public:
  virtual std::string name() const = 0;
  virtual int64_t rows() const = 0;
  virtual int64_t threads() const = 0;       // number of threads that `Run` uses
  virtual int64_t memory_bytes() const = 0;  // scratch memory per thread
  // Rows [first, first + count), computed by the calling thread. For convolutions only.
  virtual void RunRows(const RowsOperands& operands, int64_t first, int64_t count) const = 0;
};

// Whether oneDNN's name of a kernel means plain C++ loops: correct, but up to a hundred times
// slower than its other kernels.
bool IsReference(const std::string& impl);

// A primitive ready to run, with the layouts that it requires for its operands.
struct Built {
  struct Input {
    int arg;            // DNNL_ARG_*
    MemoryDesc desc;    // as the primitive sees it
    MemoryDesc stored;  // its layout in memory: `desc`, unless that is a transposed view
  };
  dnnl::primitive primitive;
  std::shared_ptr<const OwnKernel> own = nullptr;  // instead of a primitive
  std::string impl;           // oneDNN's name of the kernel
  std::vector<Input> inputs;  // in the order of the operator's operands
  std::vector<Input> post_op_inputs;  // in the order of the binary post-ops
  // Numbers that the primitive reads in addition to its operands, such as zero points: one for each
  // DNNL_ARG_*.
  std::vector<std::pair<int, int32_t>> numbers;
  MemoryDesc dst;
  MemoryDesc scratchpad;
  bool is_reference() const { return IsReference(impl); }
};

// The element types that the operands and the result of an operator may have.
enum class Holds {
  kReal,     // all float32 or all bfloat16
  kProduct,  // as kReal; or uint8 or int8 times int8, with an int32 result
  kNumbers,  // all float32, all bfloat16, all uint8 or all int8
  kAny,      // one type for all, any type
  kOwn,      // `infer` checks it
};

struct OpDef {
  std::string kind;
  std::vector<std::string> inputs;     // names of operands; those after `required` are optional
  size_t required;
  std::vector<std::string> axes;       // letters of each operand's dimensions, for layout names
  std::string dst_axes;
  std::vector<AttrSpec> attrs;
  // Checks shapes against attributes and each other; returns the result's shape.
  Dims (*infer)(const OpCall& call);
  // Describes and creates the primitive for the present layouts of the operands. Null if oneDNN has
  // no kernel for it with these post-ops. Absent for operators that compute nothing.
  std::optional<Built> (*make)(const OpCall& call, const std::vector<MemoryDesc>& have,
                               const Dims& dst, const dnnl::primitive_attr& attr);
  // Whether oneDNN documents the sum post-op for it. Trying the others proves nothing: pooling
  // accepts a sum and then ignores it. (They get the equivalent binary add, unless the sum is
  // scaled.)
  bool fuses_sum = false;
  // Whether it takes any number of operands, all named after the only one in the list.
  bool variadic = false;
  // For operators that compute nothing: whether the result has the shape declared in the graph
  // (else the inferred one).
  bool reshapes = true;
  Holds holds = Holds::kReal;
  // Whether its primitive is correct with a bias and post-ops. For other operators these run as
  // separate primitives.
  bool fuses = true;
  // For operators that may leave the result in place: bytes of the row-major operand before the
  // result; nothing if the result is in several pieces.
  std::optional<int64_t> (*part)(const OpCall& call) = nullptr;
};

// Registered operators. `Define` is called while the library is loaded.
bool DefineOp(OpDef def);
const OpDef& FindOp(const std::string& where, const std::string& kind);

// Names `inputs` after the operator's operands and reads the attributes. A wrong number of operands
// raises ValueError, a combination of dtypes that the operator does not take TypeError. Names that
// are already in `inputs` state which tensor each operand is.
OpCall Bind(const std::string& where, const OpDef& def, const std::vector<Operand>& inputs,
            DType result, const JsonObject& attrs, const std::string& result_name = "the result");

// oneDNN's algorithms under the names graphs use; ValueError listing them when unknown.
dnnl::algorithm Algorithm(const std::string& where, const std::string& alg,
                          const std::map<std::string, dnnl::algorithm>& known);
dnnl::algorithm EltwiseAlgorithm(const std::string& where, const std::string& alg);
dnnl::algorithm BinaryAlgorithm(const std::string& where, const std::string& alg);

// Whether oneDNN has the one-operand function for float32 only.
bool IsFloat32Only(const std::string& alg);

// Refuses an unknown function, and parameters for which it is undefined.
void CheckEltwise(const std::string& where, const std::string& alg, double alpha, double beta);

// Attributes of a primitive with the first `count` of `post_ops` fused; its result is `dst`.
dnnl::primitive_attr FusedAttr(const std::vector<PostOp>& post_ops, size_t count, const Dims& dst);

// Whether a fused post-op has an operand that broadcasts to `dst` along some axes, but not all.
bool ReadsWhatBroadcasts(const dnnl::primitive_attr& attr, const Dims& dst);

// Refuses a bias that is not a vector of `channels` elements; axes of size 1 may surround it.
void CheckBias(const std::string& where, const Operand& bias, int64_t channels);

// `attr` for data with the attribute `data_zero_point`, and the number for Built.numbers.
dnnl::primitive_attr WithZeroPoint(const OpCall& call, const dnnl::primitive_attr& attr);
std::optional<Built> WithZeroPoint(const OpCall& call, std::optional<Built> built);
AttrSpec ZeroPointSpec();

// Refuses `data_zero_point` if the data are not integers.
void CheckZeroPoint(const OpCall& call);

// The attribute `axis` of call.inputs[0], where negative values count from the end; raises
// ValueError if there is no such axis.
size_t Axis(const OpCall& call);

// Refuses an attribute `epsilon` below 0.
void CheckEpsilon(const OpCall& call);

// The only engine of this library.
const dnnl::engine& Cpu();

// Whether oneDNN's name of a kernel contains `part`.
bool IsKernel(const std::string& impl, const char* part);

// Wraps a primitive descriptor that may be empty (made with allow_empty). `args` are the
// DNNL_ARG_* of the operands in order.
template <typename Desc>
std::optional<Built> Finish(const Desc& desc, const std::vector<int>& args);

// ---- implementation of the template

std::optional<Built> FinishBase(const dnnl::primitive_desc_base& desc,
                                const dnnl::primitive& primitive,
                                const std::vector<int>& args);

template <typename Desc>
std::optional<Built> Finish(const Desc& desc, const std::vector<int>& args) {
  if (!desc) return std::nullopt;
  return FinishBase(desc, dnnl::primitive(desc.get()), args);
}

}  // namespace byoc_lab

#endif  // BYOC_LAB_OP_H_
