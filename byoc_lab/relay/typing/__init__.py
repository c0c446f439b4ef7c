"""Type inference, with unification, kinds, and patterns of algebraic data types."""
