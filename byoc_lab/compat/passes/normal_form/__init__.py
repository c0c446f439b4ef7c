"""Passes that fuse operators, or inline or extract functions."""
