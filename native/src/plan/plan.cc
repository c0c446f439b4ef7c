#include "plan/plan.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace byoc_lab {
namespace {

constexpr int64_t kAlignment = 64;

int64_t RoundUp(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Plan::Plan(std::vector<Step> steps, std::vector<Buffer> buffers, std::vector<OpReport> reports,
           ModuleMemory* memory)
    : steps_(std::move(steps)),
      buffers_(std::move(buffers)),
      reports_(std::move(reports)),
      stream_(Cpu()) {
  PlaceArena();
  for (const Step& step : steps_) {
    scratchpad_bytes_ =
        std::max(scratchpad_bytes_, static_cast<int64_t>(step.scratchpad.get_size()));
  }
  workspace_ = memory->Workspace(arena_bytes_ + scratchpad_bytes_);

  own_operands_.resize(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    std::vector<dnnl_exec_arg_t> args;
    for (const Step::Operand& operand : step.operands) {
      Buffer& part = buffers_[operand.buffer];
      const Buffer& buffer = Whole(part);
      const int64_t offset = &part == &buffer ? 0 : part.offset;
      const bool given =
          buffer.kind == Buffer::Kind::kInput || buffer.kind == Buffer::Kind::kOutput;
      void* data = given ? nullptr
                   : buffer.kind == Buffer::Kind::kConstant
                       ? buffer.owned->data()
                       : workspace_->data() + buffer.offset + offset;
      own_operands_[i].push_back(data);
      memories_.emplace_back(operand.desc, Cpu(), data);
      args.push_back({operand.arg, memories_.back().get()});
      if (given) {
        bound_.push_back({memories_.back().get(), i, own_operands_[i].size() - 1,
                          buffer.kind == Buffer::Kind::kOutput, buffer.index, offset});
      }
    }
    if (step.scratchpad.get_size() != 0) {
      memories_.emplace_back(step.scratchpad, Cpu(), workspace_->data() + arena_bytes_);
      args.push_back({DNNL_ARG_SCRATCHPAD, memories_.back().get()});
      own_operands_[i].push_back(workspace_->data() + arena_bytes_);
    }
    args_.push_back(std::move(args));
  }
}

Buffer& Plan::Whole(Buffer& buffer) {
  return buffer.kind == Buffer::Kind::kPart ? buffers_[buffer.index] : buffer;
}

void Plan::PlaceArena() {
  for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
    for (const Step::Operand& operand : steps_[i].operands) {
      Buffer& buffer = Whole(buffers_[operand.buffer]);
      if (buffer.first_step < 0) buffer.first_step = i;
      buffer.last_step = i;
    }
  }
  std::vector<Buffer*> largest_first;
  for (Buffer& buffer : buffers_) {
    if (buffer.kind == Buffer::Kind::kArena && buffer.first_step >= 0) {
      largest_first.push_back(&buffer);
    }
  }
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  // Each buffer gets the lowest gap among the placed buffers that are live at the same time.
  std::vector<Buffer*> by_offset;
  for (Buffer* buffer : largest_first) {
    const int64_t bytes = RoundUp(buffer->bytes);
    int64_t offset = 0;
    for (const Buffer* other : by_offset) {
      if (other->last_step < buffer->first_step || buffer->last_step < other->first_step) continue;
      if (offset + bytes <= other->offset) break;
      offset = std::max(offset, other->offset + RoundUp(other->bytes));
    }
    buffer->offset = offset;
    by_offset.insert(std::upper_bound(by_offset.begin(), by_offset.end(), buffer,
                                      [](const Buffer* a, const Buffer* b) {
                                        return a->offset < b->offset;
                                      }),
                     buffer);
    arena_bytes_ = std::max(arena_bytes_, offset + bytes);
  }
}

void Plan::AddConstants(std::set<SharedMemory>* constants) const {
  for (const Buffer& buffer : buffers_) {
    if (buffer.owned != nullptr) constants->insert(buffer.owned);
  }
}

void Plan::Run(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
               std::vector<double>* op_seconds) {
  using Clock = std::chrono::steady_clock;
  for (const Bound& bound : bound_) {
    void* start = bound.output ? outputs[bound.index] : inputs[bound.index];
    void* data = static_cast<char*>(start) + bound.offset;
    dnnl::error::wrap_c_api(dnnl_memory_set_data_handle(bound.memory, data),
                            "could not bind a tensor");
    own_operands_[bound.step][bound.operand] = data;
  }
  if (op_seconds == nullptr) {
    Repeat(1);
    return;
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto start = Clock::now();
    Execute(i);
    stream_.wait();
    const size_t slot = steps_[i].op < 0 ? op_seconds->size() - 1 : steps_[i].op;
    (*op_seconds)[slot] += std::chrono::duration<double>(Clock::now() - start).count();
  }
}

void Plan::Repeat(int64_t times) {
  for (int64_t n = 0; n < times; ++n) {
    for (size_t i = 0; i < steps_.size(); ++i) Execute(i);
    stream_.wait();
  }
}

void Plan::Execute(size_t step) {
  if (steps_[step].own != nullptr) {
    steps_[step].own->Run(own_operands_[step]);
    return;
  }
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(steps_[step].primitive.get(), stream_.get(),
                             static_cast<int>(args_[step].size()), args_[step].data()),
      "could not execute a primitive");
}

}  // namespace byoc_lab
