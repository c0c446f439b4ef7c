// Buffers, and the layouts in which tensors are held (plan_parts.h).
#include "plan/plan_parts.h"

#include "layout.h"
#include "widths.h"

namespace byoc_lab {
namespace {

// For each axis of a transposition's operand, its position in the result.
std::vector<int> Positions(const OpSpec& op) {
  const Dims& axes = op.call.attrs.Ints("axes");
  if (axes.empty()) return {0};  // a scalar, which has one axis here (see Plain)
  std::vector<int> positions(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    positions[static_cast<size_t>(axes[i])] = static_cast<int>(i);
  }
  return positions;
}

}  // namespace

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

PlanParts::PlanParts(const GraphSpec& graph, const std::vector<Constant>& constants,
                     ModuleMemory* memory)
    : graph_(graph),
      memory_(memory),
      versions_(graph.tensors.size()),
      reports_(graph.ops.size()) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const MemoryDesc plain = Plain(graph.tensors[graph.inputs[i]]);
    Buffer buffer{Buffer::Kind::kInput, static_cast<int64_t>(plain.get_size())};
    buffer.index = static_cast<int>(i);
    Record(graph.inputs[i], plain, Add(std::move(buffer)));
  }
  for (size_t i = 0; i < graph.constants.size(); ++i) {
    Record(graph.constants[i], constants[i].desc, AddConstant(constants[i].memory));
  }
}

int PlanParts::Add(Buffer buffer) {
  buffers_.push_back(std::move(buffer));
  return static_cast<int>(buffers_.size()) - 1;
}

int PlanParts::AddArena(const MemoryDesc& desc) {
  return Add({Buffer::Kind::kArena, static_cast<int64_t>(desc.get_size())});
}

int PlanParts::AddConstant(SharedMemory memory) {
  Buffer buffer{Buffer::Kind::kConstant, memory->bytes()};
  buffer.owned = std::move(memory);
  return Add(std::move(buffer));
}

void PlanParts::Record(int tensor, const MemoryDesc& desc, int buffer) {
  versions_[tensor].push_back({desc, buffer});
}

void PlanParts::AddReorder(const Version& from, const Version& to, int op) {
  if (NeedsConversion(from.desc, to.desc)) {
    AddConversion(from, to, op);
    return;
  }
  const auto [src, dst] = Moved(from.desc, to.desc);
  const dnnl::reorder::primitive_desc desc(Cpu(), src, Cpu(), dst, UserScratchpad());
  steps_.push_back({dnnl::reorder(desc),
                    {{DNNL_ARG_FROM, from.buffer, src}, {DNNL_ARG_TO, to.buffer, dst}},
                    desc.scratchpad_desc(),
                    op,
                    /*reorder=*/true});
  if (op >= 0) ++reports_[op].reorders;
}

void PlanParts::AddConversion(const Version& from, const Version& to, int op) {
  const bool widens = to.desc.get_data_type() == DType::f32;
  const Version& narrow = widens ? from : to;
  Version wide{As(DType::f32, narrow.desc), (widens ? to : from).buffer};
  const bool moves = wide.desc != (widens ? to : from).desc;
  if (moves) wide.buffer = AddArena(wide.desc);
  if (moves && !widens) AddReorder(from, wide, op);
  const Version &source = widens ? from : wide, &target = widens ? wide : to;
  steps_.push_back({dnnl::primitive(),
                    {{DNNL_ARG_FROM, source.buffer, source.desc},
                     {DNNL_ARG_TO, target.buffer, target.desc}},
                    MemoryDesc(),
                    op,
                    /*reorder=*/true,
                    MakeConversion(source.desc.get_data_type(),
                                   static_cast<int64_t>(wide.desc.get_size() / sizeof(float)))});
  if (op >= 0) ++reports_[op].reorders;
  if (moves && widens) AddReorder(wide, to, op);
}

int PlanParts::Provide(int tensor, const MemoryDesc& want, int op) {
  for (const Version& version : versions_[tensor]) {
    if (version.desc == want) return version.buffer;
  }
  Version source = versions_[tensor].front();
  if (source.desc.get_dims() != want.get_dims()) {
    // Another shape of the same elements (groups, leading ones): row-major data serves both.
    source.buffer = Provide(tensor, Plain(graph_.tensors[tensor]), op);
    source.desc = Plain(want.get_dims(), source.desc.get_data_type());
    if (source.desc == want) return source.buffer;
  }
  Version made{want, -1};
  if (IsConstant(source)) {
    made.buffer = AddConstant(memory_->Pack(buffers_[source.buffer].owned, source.desc, want));
  } else {
    made.buffer = AddArena(want);
    AddReorder(source, made, op);
  }
  versions_[tensor].push_back(made);
  return made.buffer;
}

void PlanParts::AddView(int index) {
  const OpSpec& op = graph_.ops[index];
  const int tensor = op.inputs[0];
  MemoryDesc from = Plain(graph_.tensors[tensor]);
  if (op.def->reshapes) {
    const MemoryDesc to = Plain(graph_.tensors[op.output]);
    Record(op.output, to, Provide(tensor, from, index));
  } else {
    // Any layout can also be read with its axes in another order.
    from = versions_[tensor].front().desc;
    for (const Version& version : std::vector<Version>(versions_[tensor])) {
      Record(op.output, version.desc.permute_axes(Positions(op)), version.buffer);
    }
  }
  reports_[index].impl = "view";
  reports_[index].layouts = {LayoutName(from, "")};
  reports_[index].dst_layout = LayoutName(versions_[op.output].front().desc, "");
}

bool PlanParts::AddPart(int index) {
  const OpSpec& op = graph_.ops[index];
  if (op.def->part == nullptr || !op.post_ops.empty()) return false;
  const std::optional<int64_t> start = op.def->part(op.call);
  const int tensor = op.inputs[0];
  if (!start || IsConstant(versions_[tensor].front())) return false;
  const int source = Provide(tensor, Plain(graph_.tensors[tensor]), index);
  const MemoryDesc desc = Plain(graph_.tensors[op.output]);
  const Buffer& whole = buffers_[source];
  const bool within = whole.kind == Buffer::Kind::kPart;  // parts are not parts of parts
  Buffer part{Buffer::Kind::kPart, static_cast<int64_t>(desc.get_size())};
  part.index = within ? whole.index : source;
  part.offset = *start + (within ? whole.offset : 0);
  Record(op.output, desc, Add(std::move(part)));
  reports_[index].impl = "view";
  reports_[index].layouts = {LayoutName(Plain(graph_.tensors[tensor]), "")};
  reports_[index].dst_layout = LayoutName(desc, "");
  return true;
}

bool PlanParts::IsConstant(const Version& version) const {
  return buffers_[version.buffer].kind == Buffer::Kind::kConstant;
}

void PlanParts::SettleConstants() {
  std::vector<bool> used(buffers_.size(), false);
  for (const Step& step : steps_) {
    for (const Step::Operand& operand : step.operands) used[operand.buffer] = true;
  }
  for (size_t i = 0; i < buffers_.size(); ++i) {
    Buffer& buffer = buffers_[i];
    if (buffer.kind != Buffer::Kind::kConstant) continue;
    buffer.owned = used[i] ? memory_->Aligned(buffer.owned) : nullptr;
    if (!used[i]) buffer.bytes = 0;
  }
}

}  // namespace byoc_lab
