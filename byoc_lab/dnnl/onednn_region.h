// What every generated region starts with: a few words over oneDNN's public API.
// Tensors are float32. A memory keeps the layout of the primitive that made it; `as` reorders it
// where the next one wants another.
#pragma once
#include <algorithm>
#include <cstring>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

using namespace dnnl;
using Dims = memory::dims;
using Desc = memory::desc;
using Args = std::unordered_map<int, memory>;

static const engine& cpu() {
  static const engine one(engine::kind::cpu, 0);
  return one;
}

// Row-major, without gaps.
static Desc plain(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return Desc(dims, memory::data_type::f32, strides);
}

// The layout is left to oneDNN.
static Desc any(const Dims& dims) {
  return Desc(dims, memory::data_type::f32, memory::format_tag::any);
}

static memory given(const Dims& dims, const float* data) {
  return memory(plain(dims), cpu(), const_cast<float*>(data));
}

static void copy(const memory& from, const memory& to) {
  stream now(cpu());
  reorder(from, to).execute(now, const_cast<memory&>(from), const_cast<memory&>(to));
  now.wait();
}

// A tensor in another layout, or (by way of rows) in another shape of as many elements.
static memory as(memory tensor, const Desc& want) {
  if (tensor.get_desc().get_dims() != want.get_dims()) {
    memory rows = as(tensor, plain(tensor.get_desc().get_dims()));
    memory view(plain(want.get_dims()), cpu());
    std::memcpy(view.get_data_handle(), rows.get_data_handle(), rows.get_desc().get_size());
    tensor = view;
  }
  if (tensor.get_desc() == want) return tensor;
  memory made(want, cpu());
  copy(tensor, made);
  return made;
}

// The axes of a row-major tensor in another order: `positions` says where each one goes.
static memory transposed(memory tensor, const std::vector<int>& positions) {
  const Desc view = tensor.get_desc().permute_axes(positions);
  memory made(plain(view.get_dims()), cpu());
  copy(memory(view, cpu(), tensor.get_data_handle()), made);
  return made;
}

static primitive_attr with(const post_ops& ops) {
  primitive_attr attr;
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
  eltwise_forward::primitive_desc desc(cpu(), prop_kind::forward_inference, alg, x.get_desc(),
                                       x.get_desc(), alpha, beta);
  return run(desc, {{DNNL_ARG_SRC, x}});
}

// Both operands as row-major tensors of the result's rank.
static memory apply(memory a, memory b, algorithm alg, const Dims& a_dims, const Dims& b_dims,
                    const Dims& dims) {
  binary::primitive_desc desc(cpu(), alg, plain(a_dims), plain(b_dims), plain(dims));
  return run(desc, {{DNNL_ARG_SRC_0, as(a, plain(a_dims))}, {DNNL_ARG_SRC_1, as(b, plain(b_dims))}});
}
