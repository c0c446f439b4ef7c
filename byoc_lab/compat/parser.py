"""`tvm.parser` and `tvm.relay.parser`: reading Relay's text format."""

from __future__ import annotations

from byoc_lab.relay.parser import fromtext, parse, parse_expr

__all__ = ["fromtext", "parse", "parse_expr"]
