// The loaded oneDNN library.
#ifndef BYOC_LAB_LIBRARY_H_
#define BYOC_LAB_LIBRARY_H_

#include <tvm/ffi/string.h>

namespace byoc_lab {

// Its name and version: "oneDNN 3.2.0".
tvm::ffi::String Library();

}  // namespace byoc_lab

#endif  // BYOC_LAB_LIBRARY_H_
