// What oneDNN 3.2 computes wrongly or not at all, on any processor or on some, and how to keep off
// it: for the native runtime and for the C++ that a region is written out as.
#pragma once
#include <cstdint>
#include <dnnl.hpp>
#include <string>
#include <utility>

namespace onednn_faults {

// Whether oneDNN uses all the instructions of `wanted`: the processor has them, and the environment
// variable ONEDNN_MAX_CPU_ISA allows them.
inline bool Uses(dnnl::cpu_isa wanted) {
  const auto bits = static_cast<unsigned>(wanted);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

// Whether products of 8-bit integers are exact: VNNI instructions sum them in int32. Without these,
// oneDNN sums pairs of products in int16, which saturates.
inline bool ProductsAreExact() {
  return Uses(dnnl::cpu_isa::avx512_core_vnni) || Uses(dnnl::cpu_isa::avx2_vnni);
}

// The type that primitives compute in for tensors of `type`. Without AVX512-BF16, tensors of bfloat16
// are widened to float32, and results are rounded to bfloat16 afterwards.
inline dnnl::memory::data_type ComputedIn(dnnl::memory::data_type type) {
  using Type = dnnl::memory::data_type;
  return type == Type::bf16 && !Uses(dnnl::cpu_isa::avx512_core_bf16) ? Type::f32 : type;
}

// What to tell oneDNN of memory that is moved from one layout to another. int32 goes as float32, bit
// by bit: as int32, it rounds some of it to what float32 has (where it transposes 8 by 8 elements).
// Where either has blocks, which no kernel of integers asks for, both stay as they are.
inline std::pair<dnnl::memory::desc, dnnl::memory::desc> Moved(const dnnl::memory::desc& from,
                                                               const dnnl::memory::desc& to) {
  using Type = dnnl::memory::data_type;
  for (const dnnl::memory::desc* desc : {&from, &to}) {
    if (desc->get_data_type() != Type::s32 || desc->get_inner_nblks() != 0) return {from, to};
  }
  return {dnnl::memory::desc(from.get_dims(), Type::f32, from.get_strides()),
          dnnl::memory::desc(to.get_dims(), Type::f32, to.get_strides())};
}

// Whether oneDNN has a function of one operand for float32 and nothing else.
inline bool IsFloat32Only(dnnl::algorithm eltwise) {
  return eltwise == dnnl::algorithm::eltwise_round;
}

// Whether a deconvolution may be given a bias and post-ops. With many input channels and taps, its
// strided kernel (brgconv_strided) sums in several rounds and applies both in more than one of them:
// from 64 channels on in three dimensions, from 256 in two. The other kernels apply post-ops one
// element at a time, ten times as slowly as the sums. So both follow as primitives of their own.
constexpr bool kDeconvolutionFuses = false;

// Whether a convolution's window somewhere covers nothing but padding. `data`, `weight` and `dst`
// are shapes whose last axes are the spatial ones; gaps lie between taps, 0 without dilation.
inline bool CoversPaddingAlone(const dnnl::memory::dims& data, const dnnl::memory::dims& weight,
                               const dnnl::memory::dims& dst, const dnnl::memory::dims& strides,
                               const dnnl::memory::dims& gaps, const dnnl::memory::dims& before) {
  const size_t spatial = strides.size();
  for (size_t axis = 0; axis < spatial; ++axis) {
    const auto of = [&](const dnnl::memory::dims& dims) {
      return dims[dims.size() - spatial + axis];
    };
    for (int64_t at = 0; at < of(dst); ++at) {
      const int64_t first = at * strides[axis] - before[axis];
      bool covered = false;
      for (int64_t tap = 0; tap < of(weight) && !covered; ++tap) {
        const int64_t place = first + tap * (gaps[axis] + 1);
        covered = 0 <= place && place < of(data);
      }
      if (!covered) return true;
    }
  }
  return false;
}

// To be called for a convolution of integers or bfloat16 that has such windows, or a zero point of
// the data. oneDNN's other kernels have none of these faults of its AMX kernels: for some such
// windows one reads past the end of a list of its own; for a zero point another, that of 1x1
// windows, gives wrong sums from 64 input channels on, for images of 27 to 49 pixels.
template <typename PrimitiveDesc>
void KeepOffAmx(PrimitiveDesc* convolution, bool covers_padding_alone, bool has_zero_point) {
  const auto is = [&](const char* implementation) {
    return std::string(convolution->impl_info_str()).find(implementation) != std::string::npos;
  };
  while (((covers_padding_alone && is("brgconv:")) ||
          (has_zero_point && is("jit_1x1:avx512_core_amx"))) &&
         convolution->next_impl()) {
  }
}

}  // namespace onednn_faults
