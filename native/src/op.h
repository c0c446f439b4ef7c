// What an operator is: its name, operands and attributes as data, its shape rule, and how oneDNN
// is asked for it. One file in ops/ defines one; kernels and graphs both run through these.
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

// What an operator is applied to. `where` opens every message.
struct OpCall {
  std::string where;
  std::vector<Operand> inputs;
  Attrs attrs;
  DType result = DType::f32;  // what the elements of the result are
  std::string result_name = "the result";  // as messages have it
  Layouts layouts = Layouts::kBlocked;  // of convolutions, which have a choice
};

// An operation on the result, fused into the primitive where oneDNN can.
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

// What is computed here rather than by oneDNN.
class OwnKernel {
 public:
  virtual ~OwnKernel() = default;
  // Operands in the operator's order, then the result.
  virtual void Run(const std::vector<void*>& operands) const = 0;
};

// What rows of a product's sums are computed from. sums: where the first of them goes. memory: for
// the thread that computes them.
struct RowsOperands {
  const void *left, *right;
  int32_t* sums;
  char* memory;
};

// A product with int32 sums, whose rows (of a convolution: pixels with their channels) can be
// computed apart. Operands of `Run` are left, right, sums, then memory for each of its threads.
class RowsKernel : public OwnKernel {
 public:
  virtual std::string name() const = 0;
  virtual int64_t rows() const = 0;
  virtual int64_t threads() const = 0;       // of `Run`
  virtual int64_t memory_bytes() const = 0;  // for one thread
  // Rows [first, first + count), in the thread that calls. For convolutions only.
  virtual void RunRows(const RowsOperands& operands, int64_t first, int64_t count) const = 0;
};

// Whether oneDNN's name of a kernel is that of plain C++ loops: right, and up to a hundred times slower
// than its others.
bool IsReference(const std::string& impl);

// A primitive ready to run, with the layouts it wants its operands in.
struct Built {
  struct Input {
    int arg;            // DNNL_ARG_*
    MemoryDesc desc;    // as the primitive sees it
    MemoryDesc stored;  // as it lies in memory: `desc`, unless that is a transposed view
  };
  dnnl::primitive primitive;
  std::shared_ptr<const OwnKernel> own = nullptr;  // instead of a primitive
  std::string impl;           // oneDNN's name of the kernel
  std::vector<Input> inputs;  // in the operator's order
  std::vector<Input> post_op_inputs;  // in order of the binary post-ops
  // Numbers that the primitive reads besides its operands, such as zero points: one for each
  // DNNL_ARG_*.
  std::vector<std::pair<int, int32_t>> numbers;
  MemoryDesc dst;
  MemoryDesc scratchpad;
  bool is_reference() const { return IsReference(impl); }
};

// What the operands and the result of an operator may hold.
enum class Holds {
  kReal,     // all float32 or all bfloat16
  kProduct,  // the same; or uint8 or int8 times int8, which is int32
  kAny,      // anything, all of them the same
  kOwn,      // `infer` checks it
};

struct OpDef {
  std::string kind;
  std::vector<std::string> inputs;     // names of operands; those after `required` may be left out
  size_t required;
  std::vector<std::string> axes;       // letters of each operand's dimensions, for layout names
  std::string dst_axes;
  std::vector<AttrSpec> attrs;
  // Checks shapes against attributes and each other; returns the result's shape.
  Dims (*infer)(const OpCall& call);
  // Describes and creates the primitive, given the layouts the operands have now. Nothing where
  // oneDNN has no kernel for it with these post-ops. Absent for operators that compute nothing.
  std::optional<Built> (*make)(const OpCall& call, const std::vector<MemoryDesc>& have,
                               const Dims& dst, const dnnl::primitive_attr& attr);
  // Whether oneDNN documents the sum post-op for it. Asking others is no test: pooling accepts a
  // sum and then leaves it out. (Those get the binary add that it amounts to, unless it is scaled.)
  bool fuses_sum = false;
  // Whether it takes any number of operands, all named after the only one listed.
  bool variadic = false;
  // Of operators that compute nothing: whether the result has the shape that the graph declares
  // (else the one inferred).
  bool reshapes = true;
  Holds holds = Holds::kReal;
  // Whether its primitive is right with a bias and post-ops. Those of others follow it, as primitives
  // of their own.
  bool fuses = true;
  // Of operators that may leave the result where it lies: bytes of the operand, which is row-major,
  // in front of it; nothing if the result is in several pieces.
  std::optional<int64_t> (*part)(const OpCall& call) = nullptr;
};

// Registered operators. `Define` is called while the library is loaded.
bool DefineOp(OpDef def);
const OpDef& FindOp(const std::string& where, const std::string& kind);

// Names `inputs` after the operator's operands and reads the attributes; a wrong number of
// operands is a ValueError, a mixture of dtypes it does not take a TypeError. The names that `inputs`
// have, where not empty, tell which tensor each operand is.
OpCall Bind(const std::string& where, const OpDef& def, const std::vector<Operand>& inputs,
            DType result, const JsonObject& attrs, const std::string& result_name = "the result");

// oneDNN's algorithms under the names graphs use; ValueError listing them when unknown.
dnnl::algorithm Algorithm(const std::string& where, const std::string& alg,
                          const std::map<std::string, dnnl::algorithm>& known);
dnnl::algorithm EltwiseAlgorithm(const std::string& where, const std::string& alg);
dnnl::algorithm BinaryAlgorithm(const std::string& where, const std::string& alg);

// Whether oneDNN has a function of one operand for float32 and nothing else.
bool IsFloat32Only(const std::string& alg);

// Refuses a function that is not known, and parameters for which it has no value.
void CheckEltwise(const std::string& where, const std::string& alg, double alpha, double beta);

// Attributes of a primitive with the first `count` of `post_ops` fused, whose result is `dst`.
dnnl::primitive_attr FusedAttr(const std::vector<PostOp>& post_ops, size_t count, const Dims& dst);

// Whether a fused post-op has an operand that broadcasts to `dst` along some axes and not all.
bool ReadsWhatBroadcasts(const dnnl::primitive_attr& attr, const Dims& dst);

// Refuses a bias that is no vector of `channels` elements; axes of size 1 may surround it.
void CheckBias(const std::string& where, const Operand& bias, int64_t channels);

// `attr` for data with the attribute `data_zero_point`, and the number for Built.numbers.
dnnl::primitive_attr WithZeroPoint(const OpCall& call, const dnnl::primitive_attr& attr);
std::optional<Built> WithZeroPoint(const OpCall& call, std::optional<Built> built);
AttrSpec ZeroPointSpec();

// Refuses `data_zero_point` where the data are no integers.
void CheckZeroPoint(const OpCall& call);

// The attribute `axis` of call.inputs[0], negative ones counted from the end; ValueError when there
// is no such axis.
size_t Axis(const OpCall& call);

// Refuses an attribute `epsilon` below 0.
void CheckEpsilon(const OpCall& call);

// The one engine of this library.
const dnnl::engine& Cpu();

// Whether oneDNN's name of a kernel has `part` in it.
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
