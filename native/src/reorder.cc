// A tensor in another layout: byoc_lab.dnnl.reorder(data, src_layout, dst_layout, out). Layouts are
// written as TVM writes them: one capital for each axis in the order of memory, and, if an axis is
// split, the block's size and the small letter: NCHW, NHWC, NCHW16c, OIHW16i16o.
#include <algorithm>
#include <map>

#include "plan/plan.h"
#include "threads.h"

namespace byoc_lab {
namespace {

struct Layout {
  std::string text;
  std::string letters;             // per dimension in memory: capital, or small for a block
  std::map<char, int64_t> blocks;  // capital -> size of its block; 1 if it has none
};

// `where` names the argument.
[[noreturn]] void Malformed(const std::string& where, const std::string& text) {
  TVM_FFI_THROW(ValueError) << where << ": expected one capital for each axis, then blocks of "
                            << "these axes such as '16c', found '" << text << "'";
  TVM_FFI_UNREACHABLE();
}

Layout ReadLayout(const std::string& where, const std::string& text) {
  Layout layout{text, "", {}};
  int64_t number = 0;
  for (char c : text) {
    const bool capital = c >= 'A' && c <= 'Z', small = c >= 'a' && c <= 'z';
    const char axis = small ? static_cast<char>(c - 'a' + 'A') : c;
    if (c >= '0' && c <= '9' && number < kMaxSize / 10) {
      number = number * 10 + (c - '0');
    } else if (capital && number == 0 && layout.blocks.emplace(c, 1).second) {
      layout.letters += c;
    } else if (small && number > 0 && layout.blocks.count(axis) && layout.blocks[axis] == 1 &&
               layout.letters.find(c) == std::string::npos) {
      layout.blocks[axis] = number;
      layout.letters += c;
      number = 0;
    } else {
      Malformed(where, text);
    }
  }
  if (number != 0 || text.empty()) Malformed(where, text);
  return layout;
}

// Both layouts, and the size of each of their axes.
struct Move {
  Layout src, dst;
  std::map<char, int64_t> sizes;
};

Move ReadMove(const std::string& where, const Dims& data, const std::string& src,
              const std::string& dst) {
  Move move{ReadLayout(where + ": src_layout", src), ReadLayout(where + ": dst_layout", dst), {}};
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (move.src.blocks.size() != move.dst.blocks.size() ||
      !std::equal(move.src.blocks.begin(), move.src.blocks.end(), move.dst.blocks.begin(), same)) {
    TVM_FFI_THROW(ValueError) << where << ": dst_layout: expected the axes of src_layout '" << src
                              << "', found '" << dst << "'";
  }
  std::vector<std::string> names;
  for (char letter : move.src.letters) names.emplace_back(1, letter);
  CheckRank(where, {"data", data}, names);
  for (size_t i = 0; i < data.size(); ++i) {
    const char letter = move.src.letters[i];
    if (letter >= 'a' && move.src.blocks[letter - 'a' + 'A'] != data[i]) {
      TVM_FFI_THROW(ValueError) << where << ": data: expected shape '" << src << "', found "
                                << Text(data);
    }
    if (letter < 'a') move.sizes[letter] = data[i] * move.src.blocks[letter];
  }
  for (const auto& [axis, size] : move.sizes) {
    const int64_t a = move.src.blocks[axis], b = move.dst.blocks[axis];
    if (size % b != 0 || std::max(a, b) % std::min(a, b) != 0) {
      TVM_FFI_THROW(ValueError) << where << ": dst_layout: expected a block of axis " << axis
                                << " that divides its size " << size << " and fits that of '"
                                << src << "', found '" << dst << "'";
    }
  }
  return move;
}

Dims ShapeIn(const Layout& layout, const std::map<char, int64_t>& sizes) {
  Dims dims;
  for (char letter : layout.letters) {
    dims.push_back(letter >= 'a' ? layout.blocks.at(static_cast<char>(letter - 'a' + 'A'))
                                 : sizes.at(letter) / layout.blocks.at(letter));
  }
  return dims;
}

// The memory order of `layout`, with every axis split if either of the two layouts splits it.
MemoryDesc Described(const Move& move, const Layout& layout, DType dtype) {
  const Dims shape = ShapeIn(layout, move.sizes);
  std::map<char, int64_t> step;  // stride of each letter in memory
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) step[layout.letters[i]] = stride;
  Dims dims, strides;
  for (const auto& [axis, size] : move.sizes) {
    const int64_t block = layout.blocks.at(axis);
    const auto [low, high] = std::minmax({move.src.blocks.at(axis), move.dst.blocks.at(axis)});
    const auto add = [&](int64_t count, int64_t weight) {
      if (count == 1) return;
      dims.push_back(count);
      strides.push_back(weight >= block ? step[axis] * (weight / block)
                                        : step[static_cast<char>(axis - 'A' + 'a')] * weight);
    };
    add(size / high, high);
    add(high / low, low);
    add(low, 1);
  }
  if (dims.empty()) return Plain({1}, dtype);
  return MemoryDesc(dims, dtype, strides);
}

void Reorder(const TensorView& data, const ffi::String& src_layout, const ffi::String& dst_layout,
             const TensorView& out) {
  const std::string where = "byoc_lab.dnnl.reorder";
  const Operand from{"data", ShapeOf(where, "data", data), DTypeOf(where, "data", data)};
  const Move move = ReadMove(where, from.dims, src_layout, dst_layout);
  const Operand result{"out", ShapeIn(move.dst, move.sizes), from.dtype};
  CheckDims(where, result);
  void* read = DataOf(where, from, data);
  void* written = DataOf(where, result, out);
  CheckNoOverlap(where, result, written, from, read);
  CheckNotForked(where, GetNumThreads());
  NoteRun(GetNumThreads());
  dnnl::stream stream(Cpu());
  const auto [src, dst] =
      Moved(Described(move, move.src, from.dtype), Described(move, move.dst, from.dtype));
  dnnl::memory source(src, Cpu(), read), target(dst, Cpu(), written);
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
}

ffi::Array<int64_t> ReorderedShape(const ffi::Array<int64_t>& data, const ffi::String& src_layout,
                                   const ffi::String& dst_layout) {
  const std::string where = "byoc_lab.dnnl.reorder";
  const Operand operand{"data", Dims(data.begin(), data.end())};
  CheckDims(where, operand);
  const Move move = ReadMove(where, operand.dims, src_layout, dst_layout);
  const Dims dims = ShapeIn(move.dst, move.sizes);
  CheckDims(where, {"out", dims});
  return ffi::Array<int64_t>(dims.begin(), dims.end());
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("byoc_lab.dnnl.reorder", Reorder)
      .def("byoc_lab.dnnl.reordered_shape", ReorderedShape);
}

}  // namespace byoc_lab
