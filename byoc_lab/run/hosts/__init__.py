"""The host part of an executable, and how it calls regions: compiled by TVM, or run by NumPy."""
