// From a checked graph to a Plan: one pass over the ops that chooses a primitive for each, inserts
// reorders if a layout is not the required one, and records the buffers that each step touches.
#include <algorithm>
#include <cstring>

#include "banded.h"
#include "broadcast.h"
#include "plan/plan_parts.h"
#include "plan/uses.h"

namespace byoc_lab {
namespace {

constexpr size_t kMaxFused = 32;  // maximum number of post-ops per oneDNN primitive

using onednn_faults::ComputedIn;

// The layout in which elements are computed. Widened data has no blocks: `Convert` leaves its
// tensors row-major.
MemoryDesc Widened(const MemoryDesc& desc) {
  const DType dtype = ComputedIn(desc.get_data_type());
  return dtype == desc.get_data_type() ? desc : As(dtype, desc);
}

class Builder : private PlanParts {
 public:
  Builder(const std::vector<Layouts>& layouts, const GraphSpec& graph,
          const std::vector<Constant>& constants, ModuleMemory* memory)
      : PlanParts(graph, constants, memory), layouts_(layouts), uses_(graph) {}

  std::unique_ptr<Plan> Build() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (graph_.ops[i].def->make == nullptr) {
        AddView(static_cast<int>(i));
      } else if (AddPart(static_cast<int>(i))) {
        continue;
      } else if (AddBanded(static_cast<int>(i))) {
        ++i;
      } else {
        AddOp(static_cast<int>(i));
      }
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) AddOutput(static_cast<int>(i));
    SettleConstants();
    return std::make_unique<Plan>(std::move(steps_), std::move(buffers_), std::move(reports_),
                                  memory_);
  }

 private:
  // The bias of an op, its operand after the required ones, as the first of its post-ops.
  PostOp AddedBias(const OpSpec& op) const {
    PostOp added;
    added.kind = PostOp::Kind::kBinary;
    added.alg = "add";
    added.input = op.inputs.back();
    const Operand& bias = graph_.tensors[added.input];
    const size_t rank = graph_.tensors[op.output].dims.size();
    added.input_dims.assign(rank - 1, 1);  // along the channels, the second axis
    added.input_dims[0] = Count(bias.dims);
    added.input_dtype = ComputedIn(bias.dtype);
    return added;
  }

  // An op's post-ops. Adding a tensor that nobody reads afterwards becomes a sum in its memory,
  // which reads less than oneDNN's binary add and needs one buffer less in the caches. Only as the
  // first post-op, because kernels that take a sum at other positions are slow ones.
  std::vector<PostOp> PostOps(int index) const {
    const OpSpec& op = graph_.ops[index];
    std::vector<PostOp> post_ops = op.post_ops;
    for (PostOp& post_op : post_ops) post_op.input_dtype = ComputedIn(post_op.input_dtype);
    if (!op.def->fuses && op.inputs.size() > op.def->required) {
      post_ops.insert(post_ops.begin(), AddedBias(op));
    }
    if (post_ops.empty() || !op.def->fuses) return post_ops;
    if (!op.def->fuses_sum) {
      // Adding a tensor that is read again is a binary add, which more kernels support.
      for (PostOp& post_op : post_ops) {
        if (post_op.kind != PostOp::Kind::kSum || post_op.scale != 1) continue;
        post_op.kind = PostOp::Kind::kBinary;
        post_op.alg = "add";
      }
      return post_ops;
    }
    PostOp& first = post_ops.front();
    if (first.kind != PostOp::Kind::kBinary || first.alg != "add") return post_ops;
    const Version& added = versions_[first.input].front();
    const Operand &from = graph_.tensors[first.input], &to = graph_.tensors[op.output];
    const bool alike = from.dims == to.dims && from.dtype == to.dtype &&
                       added.desc.get_dims() == to.dims &&
                       buffers_[added.buffer].kind == Buffer::Kind::kArena;
    if (alike && uses_.DiesHere(index, first.input)) first.kind = PostOp::Kind::kSum;
    return post_ops;
  }

  // The primitive with the largest number of fused post-ops for which oneDNN has a fast kernel.
  Built Choose(int index, const std::vector<PostOp>& post_ops, size_t* fused) const {
    const OpSpec& op = graph_.ops[index];
    std::vector<MemoryDesc> have;
    for (int id : op.inputs) have.push_back(Widened(versions_[id].front().desc));
    const Dims& dst = graph_.tensors[op.output].dims;
    OpCall call = op.call;
    call.layouts = layouts_[index];
    call.constant_weight = op.inputs.size() > 1 && IsConstant(versions_[op.inputs[1]].front());
    call.backwards = call.constant_weight && read_to_end_.count(op.inputs[1]) != 0;
    for (Operand& operand : call.inputs) operand.dtype = ComputedIn(operand.dtype);
    call.result = ComputedIn(call.result);
    std::optional<Built> slow;
    const auto layouts = OtherLayouts(call, have);
    for (size_t count = FusableCount(op, post_ops) + 1; count-- > 0;) {
      const dnnl::primitive_attr attr = FusedAttr(post_ops, count, dst);
      auto built = op.def->make(call, have, dst, attr);
      // Another layout costs one pass over the data, and oneDNN's plain loops cost tens of them.
      for (size_t i = 0; built && built->is_reference() && i < layouts.size(); ++i) {
        auto other = op.def->make(call, layouts[i], dst, attr);
        if (other && !other->is_reference()) built = other;
      }
      if (!built || (slow && built->is_reference())) continue;
      *fused = count;
      if (!built->is_reference()) return *built;
      slow = built;
    }
    if (slow) return *slow;
    TVM_FFI_THROW(RuntimeError) << op.call.where << ": oneDNN has no kernel for this op";
    TVM_FFI_UNREACHABLE();
  }

  // Layouts in which oneDNN may have a fast kernel if it has none for the present layouts of
  // operands: complete blocks of channels, channels last, other blocks, row-major.
  static std::vector<std::vector<MemoryDesc>> OtherLayouts(const OpCall& call,
                                                           const std::vector<MemoryDesc>& have) {
    std::vector<std::vector<MemoryDesc>> found;
    const size_t rank = call.inputs[0].dims.size();
    const auto add = [&](const auto& layout) {
      std::vector<MemoryDesc> laid;
      for (const Operand& operand : call.inputs) {
        laid.push_back(operand.dims.size() == rank ? layout(operand) : Plain(operand));
      }
      if (laid != have) found.push_back(laid);
    };
    const auto blocked = [&](bool full) {
      if (call.inputs[0].dtype != DType::f32) return;
      for (int block : {16, 8}) {
        if ((call.inputs[0].dims[1] % block == 0) != full) continue;
        add([block](const Operand& operand) { return Blocked(operand.dims, block); });
      }
    };
    if (rank >= 3 && rank <= 5) {
      blocked(true);
      add([](const Operand& operand) { return ChannelsLast(operand.dims, operand.dtype); });
      blocked(false);
    }
    add([](const Operand& operand) { return Plain(operand); });
    return found;
  }

  // A fused sum adds the previous content of the result's memory, so there can be only one.
  static size_t FusableCount(const OpSpec& op, const std::vector<PostOp>& post_ops) {
    if (!op.def->fuses) return 0;
    const size_t most = std::min(post_ops.size(), kMaxFused);
    size_t sums = 0;
    for (size_t i = 0; i < most; ++i) {
      if (post_ops[i].kind != PostOp::Kind::kSum) continue;
      if (!op.def->fuses_sum || ++sums == 2) return i;
    }
    return most;
  }

  void AddOp(int index) {
    const OpSpec& op = graph_.ops[index];
    OpReport& report = reports_[index];
    const std::vector<PostOp> post_ops = PostOps(index);
    const Built built = Choose(index, post_ops, &report.fused);
    if (op.inputs.size() > 1 && !read_to_end_.insert(op.inputs[1]).second) {
      read_to_end_.erase(op.inputs[1]);
    }
    report.impl = built.impl;
    // A post-op that is not fused runs as written: a sum is scaled there.
    const size_t added = post_ops.size() - op.post_ops.size();
    const auto written = [&](size_t i) {
      return i < report.fused || i < added ? post_ops[i] : op.post_ops[i - added];
    };
    for (size_t i = 0; i < post_ops.size(); ++i) report.post_ops.push_back(written(i).Name());
    std::vector<Step::Operand> operands;
    for (size_t i = 0; i < built.inputs.size(); ++i) {
      const Built::Input& input = built.inputs[i];
      operands.push_back({input.arg, Provide(op.inputs[i], input.stored, index), input.desc});
      report.layouts.push_back(LayoutName(input.desc, op.def->axes[op.def->variadic ? 0 : i]));
    }
    report.dst_layout = LayoutName(built.dst, op.def->dst_axes);
    auto binary_input = built.post_op_inputs.begin();
    int dst = -1;
    for (size_t i = 0; i < report.fused; ++i) {
      const PostOp& post_op = post_ops[i];
      if (post_op.kind == PostOp::Kind::kBinary) {
        operands.push_back({binary_input->arg, Provide(post_op.input, binary_input->stored, index),
                            binary_input->desc});
        ++binary_input;
      } else if (post_op.kind == PostOp::Kind::kSum) {
        dst = PrepareSum(index, post_op.input, built.dst);
      }
    }
    if (dst < 0) dst = AddArena(built.dst);
    operands.push_back({DNNL_ARG_DST, dst, built.dst});
    for (const auto& [arg, number] : built.numbers) {
      const MemoryDesc desc = Plain({1}, DType::s32);
      auto memory = std::make_shared<Memory>(static_cast<int64_t>(desc.get_size()));
      std::memcpy(memory->data(), &number, sizeof(number));
      operands.push_back({arg, AddConstant(std::move(memory)), desc});
    }
    AddStep(index, built.primitive, std::move(operands), built.scratchpad);
    steps_.back().own = built.own;
    Record(op.output, built.dst, dst);
    for (size_t i = report.fused; i < post_ops.size(); ++i) AddPostOp(index, written(i));
    Convert(index, op.call.result);
  }

  // The result converted to elements of `dtype`, which replaces the original.
  void Convert(int index, DType dtype) {
    const MemoryDesc& desc = versions_[graph_.ops[index].output].front().desc;
    if (desc.get_data_type() != dtype) LayOut(index, Plain(desc.get_dims(), dtype));
  }

  void LayOut(int index, const MemoryDesc& desc) {
    Version& result = versions_[graph_.ops[index].output].front();
    if (result.desc == desc) return;
    Version other{desc, AddArena(desc)};
    AddReorder(result, other, index);
    result = other;
  }

  // An op and the next one as one step, if they can be combined.
  bool AddBanded(int index) {
    if (!uses_.FeedsNextAlone(index)) return false;
    const OpSpec &op = graph_.ops[index], &next = graph_.ops[index + 1];
    if (!FitsInBands(*op.def, op.call, *next.def, next.call)) return false;
    const auto built = MakeBanded(*op.def, op.call, *next.def, next.call);
    if (!built) return false;
    std::vector<Step::Operand> operands;
    for (size_t i = 0; i < built->inputs.size(); ++i) {
      const Built::Input& input = built->inputs[i];
      const bool own = i < op.inputs.size();
      const int id = own ? op.inputs[i] : next.inputs[i - op.inputs.size() + 1];
      operands.push_back({input.arg, Provide(id, input.stored, index), input.desc});
      if (own) reports_[index].layouts.push_back(LayoutName(input.desc, op.def->axes[i]));
    }
    const int dst = AddArena(built->dst);
    operands.push_back({DNNL_ARG_DST, dst, built->dst});
    AddStep(index, built->primitive, std::move(operands), built->scratchpad);
    steps_.back().own = built->own;
    Record(next.output, built->dst, dst);
    reports_[index].impl = built->impl;
    reports_[index].dst_layout = LayoutName(built->dst, op.def->dst_axes);
    reports_[index + 1].impl = "in bands of " + op.name;
    reports_[index + 1].dst_layout = reports_[index].dst_layout;
    for (const PostOp& post_op : next.post_ops) {
      reports_[index + 1].post_ops.push_back(post_op.Name());
      AddPostOp(index + 1, post_op);
    }
    return true;
  }

  // Places the tensor to be added in the result's memory: in its own buffer if nobody reads it
  // afterwards, else in a copy.
  int PrepareSum(int index, int tensor, const MemoryDesc& desc) {
    if (uses_.DiesHere(index, tensor)) {
      for (const Version& version : versions_[tensor]) {
        if (version.desc == desc && buffers_[version.buffer].kind == Buffer::Kind::kArena) {
          return version.buffer;
        }
      }
    }
    Version copy{desc, AddArena(desc)};
    AddReorder(versions_[tensor].front(), copy, index);
    return copy.buffer;
  }

  // A post-op that was not fused: a separate primitive, in place on the result.
  void AddPostOp(int index, const PostOp& post_op) {
    const OpSpec& op = graph_.ops[index];
    if (post_op.kind == PostOp::Kind::kEltwise && IsFloat32Only(post_op.alg)) {
      Convert(index, DType::f32);
    }
    const Version result = versions_[op.output].front();
    const Dims dims = result.desc.get_dims();
    dnnl::primitive_desc desc;
    std::vector<Step::Operand> operands;
    if (post_op.kind == PostOp::Kind::kEltwise) {
      desc = dnnl::eltwise_forward::primitive_desc(
          Cpu(), dnnl::prop_kind::forward_inference,
          EltwiseAlgorithm(op.call.where, post_op.alg), result.desc, result.desc, post_op.alpha,
          post_op.beta, UserScratchpad());
      operands = {{DNNL_ARG_SRC, result.buffer, result.desc}};
    } else {
      const Dims padded = PadRank(post_op.input_dims, dims.size());
      const MemoryDesc other = padded == dims ? result.desc : Beside(result.desc, padded);
      const int buffer = Provide(post_op.input, other, index);
      if (post_op.kind == PostOp::Kind::kBinary) {
        desc = dnnl::binary::primitive_desc(Cpu(), BinaryAlgorithm(op.call.where, post_op.alg),
                                            result.desc, other, result.desc, UserScratchpad());
        if (IsReference(desc.impl_info_str())) return AddBroadcast(index, post_op);
        operands = {{DNNL_ARG_SRC_0, result.buffer, result.desc}, {DNNL_ARG_SRC_1, buffer, other}};
      } else {
        const std::vector<MemoryDesc> terms = {result.desc, other};
        const dnnl::sum::primitive_desc sum(Cpu(), result.desc, {1.0f, post_op.scale}, terms,
                                            UserScratchpad());
        AddSeparate(index, sum.impl_info_str(), dnnl::primitive(sum.get()),
                    {{DNNL_ARG_MULTIPLE_SRC, result.buffer, result.desc},
                     {DNNL_ARG_MULTIPLE_SRC + 1, buffer, other},
                     {DNNL_ARG_DST, result.buffer, result.desc}},
                    sum.scratchpad_desc());
        return;
      }
    }
    operands.push_back({DNNL_ARG_DST, result.buffer, result.desc});
    AddSeparate(index, desc.impl_info_str(), dnnl::primitive(desc.get()), std::move(operands),
                desc.scratchpad_desc());
  }

  // A binary post-op by a kernel of this library, in place on the result, which is then row-major.
  void AddBroadcast(int index, const PostOp& post_op) {
    const OpSpec& op = graph_.ops[index];
    const MemoryDesc& made = versions_[op.output].front().desc;
    const MemoryDesc desc = Plain(made.get_dims(), made.get_data_type());
    LayOut(index, desc);
    const int buffer = versions_[op.output].front().buffer;
    const Dims dims = desc.get_dims(), padded = PadRank(post_op.input_dims, dims.size());
    const MemoryDesc other = Plain(padded, desc.get_data_type());
    const int added = Provide(post_op.input, other, index);
    AddSeparate(index, "rows", dnnl::primitive(),
                {{DNNL_ARG_SRC_0, buffer, desc}, {DNNL_ARG_SRC_1, added, other},
                 {DNNL_ARG_DST, buffer, desc}},
                MemoryDesc());
    steps_.back().own = MakeBroadcast(BinaryAlgorithm(op.call.where, post_op.alg), dims, padded,
                                      dims, desc.get_data_type());
  }

  void AddSeparate(int index, const std::string& impl, const dnnl::primitive& primitive,
                   std::vector<Step::Operand> operands, const MemoryDesc& scratchpad) {
    reports_[index].separate_impls.push_back(impl);
    AddStep(index, primitive, std::move(operands), scratchpad);
  }

  void AddStep(int index, const dnnl::primitive& primitive, std::vector<Step::Operand> operands,
               const MemoryDesc& scratchpad) {
    for (const Step::Operand& operand : operands) {
      reports_[index].bytes += static_cast<int64_t>(operand.desc.get_size());
    }
    steps_.push_back({primitive, std::move(operands), scratchpad, index, /*reorder=*/false});
  }

  // If possible, the step that computes an output writes it directly to the caller's memory.
  void AddOutput(int index) {
    const int tensor = graph_.outputs[index];
    const MemoryDesc plain = Plain(graph_.tensors[tensor]);
    const Version made{plain, Provide(tensor, plain, uses_.producer(tensor))};
    Buffer& buffer = buffers_[made.buffer];
    if (buffer.kind == Buffer::Kind::kArena) {
      buffer.kind = Buffer::Kind::kOutput;
      buffer.index = index;
      return;
    }
    Buffer output{Buffer::Kind::kOutput, static_cast<int64_t>(plain.get_size())};
    output.index = index;
    AddReorder(made, {plain, Add(std::move(output))}, uses_.producer(tensor));
  }

  const std::vector<Layouts>& layouts_;  // one per op
  const Uses uses_;
  std::set<int> read_to_end_;  // second operands that the previous reader did not read backwards
};

}  // namespace

std::unique_ptr<Plan> BuildPlanIn(const std::vector<Layouts>& layouts, const GraphSpec& graph,
                                  const std::vector<Constant>& constants,
                                  ModuleMemory* memory) {
  int64_t bytes = 0;
  for (const Constant& constant : constants) bytes += constant.memory->bytes();
  memory->Expect(bytes);
  return Builder(layouts, graph, constants, memory).Build();
}

}  // namespace byoc_lab
