"""The laboratory in one file: `make lite`."""
