// Reports which faults listed in native/README.md the linked oneDNN has, one per line.
//
//   g++ -std=c++17 native/probes/onednn_faults.cc -I INCLUDE -L LIB -l:libdnnl.so.3 -o onednn_faults
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <dnnl.hpp>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using dnnl::algorithm;
using dnnl::memory;
using Desc = memory::desc;
using Tag = memory::format_tag;
using Type = memory::data_type;

const dnnl::engine& Cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

constexpr auto kForward = dnnl::prop_kind::forward_inference;

void Run(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& operands) {
  dnnl::stream stream(Cpu());
  primitive.execute(stream, operands);
  stream.wait();
}

// `Count` numbers in row-major order.
template <typename T>
struct Array {
  Array(const memory::dims& dims, Type type, const std::function<double(size_t)>& at)
      : desc(dims, type, memory::dims()), values() {
    memory::dims strides(dims.size(), 1);
    for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
    desc = Desc(dims, type, strides);
    values.resize(desc.get_size() / sizeof(T));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(at(i));
    held = memory(desc, Cpu(), values.data());
  }
  Desc desc;
  std::vector<T> values;
  memory held;
};

double Zero(size_t) { return 0; }

// Checks that one number per channel, added after `primitive`'s own result of 0, is read correctly.
template <typename Make>
bool MisreadsChannels(Make make) {
  const memory::dims dims = {1, 16, 5, 1};
  Array<float> data(dims, Type::f32, Zero), out(dims, Type::f32, Zero);
  Array<float> added({1, 16, 1, 1}, Type::f32, [](size_t i) { return 1.0 + i; });
  dnnl::post_ops post_ops;
  post_ops.append_binary(algorithm::binary_add, added.desc);
  dnnl::primitive_attr attr;
  attr.set_post_ops(post_ops);
  double plain = 0;  // the primitive's result without the operand
  const dnnl::primitive primitive = make(data, out, attr, &plain);
  Run(primitive, {{DNNL_ARG_SRC, data.held}, {DNNL_ARG_SRC_0, data.held},
                  {DNNL_ARG_SRC_1, data.held}, {DNNL_ARG_DST, out.held},
                  {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, added.held}});
  for (size_t i = 0; i < out.values.size(); ++i) {
    if (std::fabs(out.values[i] - plain - (1.0 + i / 5)) > 1e-4) return true;
  }
  return false;
}

bool SoftmaxMisreads() {
  return MisreadsChannels([](auto& data, auto& out, const auto& attr, double* plain) {
    *plain = 1.0 / 5;
    return dnnl::softmax_forward({Cpu(), kForward, algorithm::softmax_accurate, data.desc,
                                  out.desc, 2, attr});
  });
}

bool ReorderRounds() {
  constexpr int64_t kSide = 8;
  constexpr int32_t kOdd = (1 << 24) + 1;  // not representable in float32
  Array<int32_t> from({kSide, kSide}, Type::s32, [](size_t i) { return kOdd + 2.0 * i; });
  Array<int32_t> to({kSide, kSide}, Type::s32, Zero);
  const memory turned(Desc({kSide, kSide}, Type::s32, Tag::ba), Cpu(), to.values.data());
  Run(dnnl::reorder(from.held, turned), {{DNNL_ARG_FROM, from.held}, {DNNL_ARG_TO, turned}});
  return to.values[1] != from.values[kSide];
}

bool RoundIsOfFloat32Alone() {
  const Desc desc({16, 16}, Type::bf16, Tag::ab);
  const dnnl::eltwise_forward::primitive_desc made(Cpu(), kForward, algorithm::eltwise_round, desc,
                                                   desc, 0.0f, 0.0f, {}, /*allow_empty=*/true);
  return !made;
}

bool PoolingLeavesSumOut() {
  Array<float> data({1, 16, 4, 4}, Type::f32, Zero);
  Array<float> out({1, 16, 2, 2}, Type::f32, [](size_t) { return 1.0; });
  dnnl::post_ops post_ops;
  post_ops.append_sum(1.0f);
  dnnl::primitive_attr attr;
  attr.set_post_ops(post_ops);
  const dnnl::pooling_forward::primitive_desc made(
      Cpu(), kForward, algorithm::pooling_max, data.desc, out.desc, {2, 2}, {2, 2}, {0, 0}, {0, 0},
      {0, 0}, attr, /*allow_empty=*/true);
  if (!made) return false;
  Run(dnnl::pooling_forward(made), {{DNNL_ARG_SRC, data.held}, {DNNL_ARG_DST, out.held}});
  return out.values[0] != 1.0f;
}

// f(x) for a vector filled with x.
float Of(algorithm alg, double x) {
  Array<float> data({64}, Type::f32, [x](size_t) { return x; }), out({64}, Type::f32, Zero);
  Run(dnnl::eltwise_forward({Cpu(), kForward, alg, data.desc, out.desc, 0.0f, 0.0f}),
      {{DNNL_ARG_SRC, data.held}, {DNNL_ARG_DST, out.held}});
  return out.values[0];
}

bool ExpLosesNan() { return !std::isnan(Of(algorithm::eltwise_exp, NAN)); }

bool PoolingLosesNan() {
  Array<float> data({1, 16, 2, 2}, Type::f32, [](size_t) { return NAN; });
  const Desc blocked({1, 16, 2, 2}, Type::f32, Tag::nChw16c), one({1, 16, 1, 1}, Type::f32,
                                                                  Tag::nChw16c);
  memory from(blocked, Cpu());
  Array<float> out({1, 16, 1, 1}, Type::f32, Zero);
  Run(dnnl::reorder(data.held, from), {{DNNL_ARG_FROM, data.held}, {DNNL_ARG_TO, from}});
  const memory to(one, Cpu(), out.values.data());
  Run(dnnl::pooling_forward({Cpu(), kForward, algorithm::pooling_max, blocked, one, {1, 1}, {2, 2},
                             {0, 0}, {0, 0}, {0, 0}}),
      {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
  return !std::isnan(out.values[0]);
}

bool LogFlushesDenormal() { return std::fabs(Of(algorithm::eltwise_log, 1e-40) + 92.1034) > 1; }

}  // namespace

int main() {
  const dnnl_version_t& found = *dnnl_version();
  std::printf("oneDNN %d.%d.%d\n", found.major, found.minor, found.patch);
  const std::pair<const char*, bool (*)()> probes[] = {
      {"a reorder that transposes int32 rounds to float32", ReorderRounds},
      {"eltwise_round exists only for float32", RoundIsOfFloat32Alone},
      {"pooling accepts a sum post-op and ignores it", PoolingLeavesSumOut},
      {"softmax reads a fused operand of channels at wrong places", SoftmaxMisreads},
      {"exp(nan) is a number", ExpLosesNan},
      {"max pooling of only nan is a number", PoolingLosesNan},
      {"log flushes denormal numbers", LogFlushesDenormal},
  };
  for (const auto& [name, probe] : probes) {
    const char* told = "no ";
    try {
      if (probe()) told = "yes";
    } catch (const dnnl::error& error) {
      told = error.what();
    }
    std::printf("%s  %s\n", told, name);
  }
}
