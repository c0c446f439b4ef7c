// What every generated region starts with: a few words over oneDNN's public API.
// Tensors are float32 unless a type is given. A memory keeps the layout of the primitive that made
// it; `as` reorders it where the next one wants another.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "onednn_faults.h"

using namespace dnnl;
using Dims = memory::dims;
using Desc = memory::desc;
using Type = memory::data_type;
using Args = std::unordered_map<int, memory>;

static const engine& cpu() {
  static const engine one(engine::kind::cpu, 0);
  return one;
}

// Row-major, without gaps.
static Desc rows_of(const Dims& dims, Type type) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return Desc(dims, type, strides);
}

// The same for what primitives compute, which is float32 in the place of bfloat16 where the processor
// has no instructions for that.
static Desc plain(const Dims& dims, Type type = Type::f32) {
  return rows_of(dims, onednn_faults::ComputedIn(type));
}

// The layout is left to oneDNN.
static Desc any(const Dims& dims, Type type = Type::f32) {
  return Desc(dims, onednn_faults::ComputedIn(type), memory::format_tag::any);
}

static memory as(memory tensor, const Desc& want);

// A row-major array of the caller, and what primitives read of it.
static memory array(const Dims& dims, const void* data, Type type = Type::f32) {
  return memory(rows_of(dims, type), cpu(), const_cast<void*>(data));
}

static memory given(const Dims& dims, const void* data, Type type = Type::f32) {
  return as(array(dims, data, type), plain(dims, type));
}

// A whole number that a primitive asks for when it runs.
static memory number(int32_t value) {
  memory made(plain({1}, Type::s32), cpu());
  *static_cast<int32_t*>(made.get_data_handle()) = value;
  return made;
}

static void copy(const memory& from, const memory& to) {
  const auto [src, dst] = onednn_faults::Moved(from.get_desc(), to.get_desc());
  memory read(src, cpu(), from.get_data_handle()), written(dst, cpu(), to.get_data_handle());
  stream now(cpu());
  reorder(read, written).execute(now, read, written);
  now.wait();
}

// A tensor in another layout or type, or (by way of rows) in another shape of as many elements.
static memory as(memory tensor, const Desc& want) {
  if (tensor.get_desc().get_dims() != want.get_dims()) {
    const Type type = tensor.get_desc().get_data_type();
    memory rows = as(tensor, plain(tensor.get_desc().get_dims(), type));
    memory view(plain(want.get_dims(), type), cpu());
    std::memcpy(view.get_data_handle(), rows.get_data_handle(), rows.get_desc().get_size());
    tensor = view;
  }
  if (tensor.get_desc() == want) return tensor;
  memory made(want, cpu());
  copy(tensor, made);
  return made;
}

// Every `step`th element along one axis of a row-major tensor, `length` of them from `begin` on.
static memory sliced(memory tensor, size_t axis, int64_t begin, int64_t length, int64_t step) {
  Dims dims = tensor.get_desc().get_dims();
  const Type type = tensor.get_desc().get_data_type();
  const int64_t whole = dims[axis];
  size_t row = memory::data_type_size(type), outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= static_cast<size_t>(dims[i]);
  for (size_t i = axis + 1; i < dims.size(); ++i) row *= static_cast<size_t>(dims[i]);
  dims[axis] = length;
  memory made(plain(dims, type), cpu());
  const char* from = static_cast<const char*>(tensor.get_data_handle());
  char* to = static_cast<char*>(made.get_data_handle());
  for (size_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < length; ++i, to += row) {
      std::memcpy(to, from + (o * static_cast<size_t>(whole) + static_cast<size_t>(begin + i * step)) * row, row);
    }
  }
  return made;
}

// The axes of a row-major tensor in another order: `positions` says where each one goes.
static memory transposed(memory tensor, const std::vector<int>& positions) {
  const Desc view = tensor.get_desc().permute_axes(positions);
  memory made(plain(view.get_dims(), view.get_data_type()), cpu());
  copy(memory(view, cpu(), tensor.get_data_handle()), made);
  return made;
}

// shifted: a zero point is taken off the data, given when the primitive runs.
static primitive_attr with(const post_ops& ops, bool shifted = false) {
  primitive_attr attr;
  if (shifted) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
  attr.set_post_ops(ops);
  return attr;
}

// Runs a primitive and waits; the result is a new memory.
template <typename PrimitiveDesc>
static memory run(const PrimitiveDesc& desc, Args args) {
  memory result(desc.dst_desc(), cpu());
  args[DNNL_ARG_DST] = result;
  stream now(cpu());
  primitive(desc.get()).execute(now, args);
  now.wait();
  return result;
}

static memory eltwise(memory x, algorithm alg, float alpha, float beta) {
  const Dims dims = x.get_desc().get_dims();
  const Type type = x.get_desc().get_data_type();
  if (onednn_faults::IsFloat32Only(alg) && type != Type::f32) {
    return as(eltwise(as(x, plain(dims)), alg, alpha, beta), plain(dims, type));
  }
  eltwise_forward::primitive_desc desc(cpu(), prop_kind::forward_inference, alg, x.get_desc(),
                                       x.get_desc(), alpha, beta);
  return run(desc, {{DNNL_ARG_SRC, x}});
}

// Both operands as row-major tensors of the result's rank.
static memory apply(memory a, memory b, algorithm alg, const Dims& a_dims, const Dims& b_dims,
                    const Dims& dims) {
  const Type type = a.get_desc().get_data_type();
  const Desc one = plain(a_dims, type), other = plain(b_dims, type);
  binary::primitive_desc desc(cpu(), alg, one, other, plain(dims, type));
  return run(desc, {{DNNL_ARG_SRC_0, as(a, one)}, {DNNL_ARG_SRC_1, as(b, other)}});
}

// The state and the cell of an LSTM, side by side. `order` has the places of input, output, forget and
// new among the quarters of the gates.
static memory lstm_cell(memory gates, memory before, const Dims& order) {
  const Dims dims = before.get_desc().get_dims();
  const Type type = before.get_desc().get_data_type();
  const int64_t width = dims[1];
  memory of = as(gates, plain({dims[0], 4 * width})), cells = as(before, plain(dims));
  memory made(plain({dims[0], 2 * width}), cpu());
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  for (int64_t n = 0; n < dims[0] * width; ++n) {
    const int64_t row = n / width, i = n % width;
    const auto gate = [&](size_t which) {
      return static_cast<float*>(of.get_data_handle())[(row * 4 + order[which]) * width + i];
    };
    const float kept = sigmoid(gate(2)) * static_cast<float*>(cells.get_data_handle())[n];
    const float cell = kept + sigmoid(gate(0)) * std::tanh(gate(3));
    float* to = static_cast<float*>(made.get_data_handle()) + row * 2 * width + i;
    to[0] = sigmoid(gate(1)) * std::tanh(cell);
    to[width] = cell;
  }
  return as(made, plain({dims[0], 2 * width}, type));
}

// Element `index` of a tensor of 8-bit integers.
static int32_t integer(const memory& tensor, int64_t index) {
  const void* data = tensor.get_data_handle();
  return tensor.get_desc().get_data_type() == Type::s8 ? static_cast<const int8_t*>(data)[index]
                                                       : static_cast<const uint8_t*>(data)[index];
}

// A convolution of row-major integers by the formula, for processors on which oneDNN's saturates:
// data (N, C, ...), weight (O, C / groups, ...), result (N, O, ...). `zero` is taken off the data and
// is what is padded with. Without spatial axes it is data times the transpose of weight.
static memory exact_convolution(memory data, memory weight, const Dims& dims, const Dims& strides,
                                const Dims& gaps, const Dims& before, int32_t zero) {
  const Dims from = data.get_desc().get_dims(), taps = weight.get_desc().get_dims();
  const size_t axes = strides.size();
  const auto count = [&](const Dims& shape, size_t first) {
    int64_t product = 1;
    for (size_t i = first; i < shape.size(); ++i) product *= shape[i];
    return product;
  };
  const int64_t pixels = count(dims, 2), window = count(taps, 2), size = count(from, 2);
  const int64_t inner = taps[1], outputs = dims[1] * inner / from[1];  // channels of one group
  memory result(plain(dims, Type::s32), cpu());
  auto* sums = static_cast<int32_t*>(result.get_data_handle());
  for (int64_t n = 0; n < dims[0] * dims[1] * pixels; ++n) {
    const int64_t image = n / pixels / dims[1], out = n / pixels % dims[1], group = out / outputs;
    uint32_t sum = 0;  // wraps around, as int32 does in vectors
    for (int64_t tap = 0; tap < window; ++tap) {
      int64_t pixel = n % pixels, step = tap, at = 0, scale = 1;
      bool inside = true;
      for (size_t axis = axes; axis-- > 0;) {
        const int64_t place = pixel % dims[2 + axis] * strides[axis] +
                              step % taps[2 + axis] * (gaps[axis] + 1) - before[axis];
        inside = inside && 0 <= place && place < from[2 + axis];
        at += place * scale;
        scale *= from[2 + axis];
        pixel /= dims[2 + axis];
        step /= taps[2 + axis];
      }
      for (int64_t i = 0; inside && i < inner; ++i) {
        const int64_t channel = image * from[1] + group * inner + i;
        sum += static_cast<uint32_t>((integer(data, channel * size + at) - zero) *
                                     integer(weight, (out * inner + i) * window + tap));
      }
    }
    sums[n] = static_cast<int32_t>(sum);
  }
  return result;
}

// The same for a product of matrices whose leading axes broadcast; all of one rank.
static memory exact_matmul(memory a, memory b, const Dims& dims) {
  const Dims left = a.get_desc().get_dims(), right = b.get_desc().get_dims();
  const size_t axes = dims.size() - 2;
  const int64_t rows = dims[axes], columns = dims[axes + 1], depth = left[axes + 1];
  memory result(plain(dims, Type::s32), cpu());
  auto* sums = static_cast<int32_t*>(result.get_data_handle());
  const int64_t all = static_cast<int64_t>(result.get_desc().get_size() / sizeof(int32_t));
  for (int64_t n = 0; n < all; ++n) {
    int64_t batch = n / (rows * columns), of_a = 0, of_b = 0, scale_a = 1, scale_b = 1;
    for (size_t axis = axes; axis-- > 0; batch /= dims[axis]) {
      const int64_t at = batch % dims[axis];
      of_a += (left[axis] == 1 ? 0 : at) * scale_a;
      of_b += (right[axis] == 1 ? 0 : at) * scale_b;
      scale_a *= left[axis];
      scale_b *= right[axis];
    }
    const int64_t row = n / columns % rows, column = n % columns;
    uint32_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      sum += static_cast<uint32_t>(integer(a, (of_a * rows + row) * depth + k) *
                                   integer(b, (of_b * depth + k) * columns + column));
    }
    sums[n] = static_cast<int32_t>(sum);
  }
  return result;
}
