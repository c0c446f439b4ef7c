"""Type inference, unification, kind checking, and exhaustiveness of matches."""
