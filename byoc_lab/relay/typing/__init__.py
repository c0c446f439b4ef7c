"""Type inference, and what it needs: unification, kinds and patterns of algebraic data types."""
