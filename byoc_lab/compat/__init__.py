"""TVM's namespace, for scripts written for TVM 0.8 to 0.19, which had Relay.

    from byoc_lab.compat import tvm, relay           # in a new script
    python -m byoc_lab.compat script.py [arguments]  # an old script as it is
    python -m byoc_lab.compat -m pytest tests/       # old tests as they are
    byoc_lab.compat.load_importer("onnx.py")         # an importer of TVM's, from its file

Relay, its passes and the executors are byoc_lab's; `te`, `tirx`, `topi`, `target` and so on are
those of the installed apache-tvm. `names.py` is the table that says which name comes from where,
and `overlay.py` how. What is in neither raises UnsupportedNameError (an AttributeError) or
UnsupportedModuleError (an ImportError), which say what to do instead. In a script or test that is
run so, `from ... import name` goes through, and each use of the name raises UnsupportedNameError.

What `relay.parse` reads here has the places (spans) that TVM 0.16 gives (`places.py`), and in a
script or test that is run so, texts show them, as in TVM.

Passes that only such scripts use are in `compat.passes`, and `make_pass` knows them once this
package is imported.

`compat.jan2020` is the same for scripts of January 2020, whose passes gave other results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from byoc_lab.compat import ir as _ir  # noqa: F401 (gives modules `import_from_std`)
from byoc_lab.compat import op as _op  # noqa: F401 (defines operators)
from byoc_lab.compat import passes  # noqa: F401  (registers them: make_pass("FuseOps"))

if TYPE_CHECKING:
    from byoc_lab.compat.importer_file import load_importer as load_importer

    relay: Any
    transform: Any
    tvm: Any

_MODULES = {"tvm": "tvm", "relay": "tvm.relay", "transform": "tvm.transform"}


def __getattr__(name: str) -> Any:
    # Loaded when used: jan2020 and the command line need none of it.
    if name == "load_importer":
        from byoc_lab.compat.importer_file import load_importer

        return load_importer
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from byoc_lab.compat.overlay import module

    return module(_MODULES[name])
