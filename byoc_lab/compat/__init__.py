"""Namespaces under which scripts of other times run: change their import lines, nothing else."""
