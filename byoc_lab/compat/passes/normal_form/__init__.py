"""Passes that fuse operators, inline functions, or take them apart."""
