"""TVM's namespace, for scripts written for TVM 0.8 to 0.19, which had Relay.

    from byoc_lab.compat import tvm, relay           # in a new script
    python -m byoc_lab.compat script.py [arguments]  # an old script as it is
    python -m byoc_lab.compat -m pytest tests/       # old tests as they are
    byoc_lab.compat.load_importer("onnx.py")         # an importer of TVM's, from its file

Relay, its passes and the executors come from byoc_lab; `te`, `tirx`, `topi`, `target` and other
modules come from the installed apache-tvm. The table `names.py` gives the source of each name;
`overlay.py` implements the lookup. A name that neither has raises UnsupportedNameError (an
AttributeError) or UnsupportedModuleError (an ImportError), with advice in the message. In a script
or test that `python -m byoc_lab.compat` runs, `from ... import name` succeeds, and each use of the
name raises UnsupportedNameError.

Nodes that `relay.parse` creates here have the spans (source locations) of TVM 0.16 (`places.py`).
In a script or test that `python -m byoc_lab.compat` runs, printed text includes the spans, as in
TVM.

Passes that only such scripts use are in `compat.passes`; `make_pass` accepts their names after this
package is imported.

`compat.jan2020` is the namespace for scripts of January 2020, when passes gave different results.
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
    # Loaded on first use: jan2020 and the command line do not need them.
    if name == "load_importer":
        from byoc_lab.compat.importer_file import load_importer

        return load_importer
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from byoc_lab.compat.overlay import module

    return module(_MODULES[name])
