// TVM's header of this name; what there is of it stands in c_runtime_api.h.
#include <tvm/runtime/c_runtime_api.h>
