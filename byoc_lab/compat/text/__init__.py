"""Texts as TVM handles them: its parser, places and diagnostics."""
