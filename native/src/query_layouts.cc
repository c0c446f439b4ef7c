// The layouts that oneDNN would choose for a convolution, for passes that convert a module to them.
#include "layout.h"
#include "op.h"

namespace byoc_lab {
namespace {

dnnl::memory::data_type DataType(const std::string& dtype) {
  if (dtype == "float32") return dnnl::memory::data_type::f32;
  if (dtype == "bfloat16") return dnnl::memory::data_type::bf16;
  TVM_FFI_THROW(TypeError) << "byoc_lab.dnnl.optimal_layouts: expected dtype float32 or bfloat16, "
                           << "found " << dtype;
}

Dims Read(const ffi::Array<int64_t>& values) { return {values.begin(), values.end()}; }

template <typename Primitive>
std::string Chosen(const Primitive& chosen) {
  if (!chosen) {
    TVM_FFI_THROW(ValueError) << "byoc_lab.dnnl.optimal_layouts: oneDNN has no such convolution";
  }
  return LayoutName(chosen.src_desc(), "") + "," + LayoutName(chosen.weights_desc(), "") + "," +
         LayoutName(chosen.dst_desc(), "");
}

// Layouts of data, weight and result in oneDNN's letters: "aBcd8b,ABcd8b8a,aBcd8b", with an
// upper-case letter for an axis in blocks. `weight` is (O, I / groups, ...), with groups as a
// leading axis if there are any; `gaps` are the elements between taps, 0 without dilation. Raises
// TypeError for other types, ValueError for arguments that are not a convolution.
ffi::String OptimalLayouts(bool transposed, const ffi::Array<int64_t>& data,
                           const ffi::Array<int64_t>& weight, const ffi::Array<int64_t>& result,
                           const ffi::Array<int64_t>& strides, const ffi::Array<int64_t>& gaps,
                           const ffi::Array<int64_t>& before, const ffi::Array<int64_t>& after,
                           const ffi::String& dtype) {
  const auto type = DataType(dtype);
  const auto any = [type](const ffi::Array<int64_t>& dims) {
    return MemoryDesc(Read(dims), type, Tag::any);
  };
  const auto inference = dnnl::prop_kind::forward_inference;
  if (transposed) {
    return Chosen(dnnl::deconvolution_forward::primitive_desc(
        Cpu(), inference, dnnl::algorithm::deconvolution_direct, any(data), any(weight),
        any(result), Read(strides), Read(gaps), Read(before), Read(after), {},
        /*allow_empty=*/true));
  }
  return Chosen(dnnl::convolution_forward::primitive_desc(
      Cpu(), inference, dnnl::algorithm::convolution_direct, any(data), any(weight), any(result),
      Read(strides), Read(gaps), Read(before), Read(after), {}, /*allow_empty=*/true));
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("byoc_lab.dnnl.optimal_layouts", OptimalLayouts);
}

}  // namespace byoc_lab
