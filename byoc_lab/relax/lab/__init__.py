"""The laboratory on modules of Relax: `explain`, `coverage`, `validate`, `bisect` and `fix`."""
