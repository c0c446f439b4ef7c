"""The laboratory for Relax modules: `explain`, `coverage`, `validate`, `bisect` and `fix`."""
