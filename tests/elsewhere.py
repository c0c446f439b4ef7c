"""A pytest plugin that simulates a machine without the DNNL extension, apache-tvm and a C compiler.

python -m pytest -p tests.elsewhere tests/relay tests/passes ...
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.hiding import environment, hide

hide()
_folder = tempfile.TemporaryDirectory(prefix="byoc-lab-elsewhere-")
os.environ.update(environment(Path(_folder.name)))
