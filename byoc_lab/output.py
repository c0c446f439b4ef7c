"""The JSON of the command line and of reports: one envelope for all kinds.

Each is an object with "schema" (a number that increases with each incompatible change of a kind),
"kind", "version" (of byoc_lab), and the fields of the kind, which `output.schema.json` in this
folder describes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from byoc_lab.version import VERSION

SCHEMA = Path(__file__).with_suffix(".schema.json")
"""The JSON Schema (draft 2020-12) of all kinds."""


def to_json(kind: str, data: Mapping[str, Any], schema: int = 1, indent: int | None = None) -> str:
    """The JSON text of an envelope around `data`."""
    head = {"schema": schema, "kind": kind, "version": VERSION}
    return json.dumps({**head, **data}, indent=indent)
