#include "library.h"

#include <dnnl.hpp>
#include <tvm/ffi/reflection/registry.h>

#include <string>

namespace byoc_lab {

tvm::ffi::String Library() {
  const dnnl_version_t& found = *dnnl_version();
  return "oneDNN " + std::to_string(found.major) + "." + std::to_string(found.minor) + "." +
         std::to_string(found.patch);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("byoc_lab.dnnl.library", Library);
}

}  // namespace byoc_lab
