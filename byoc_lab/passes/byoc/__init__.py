"""The passes of BYOC: annotate, merge, partition; one pass, one file."""
