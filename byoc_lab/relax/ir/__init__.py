"""Reads Relax modules: operator calls, variables, types, unknown sizes."""
