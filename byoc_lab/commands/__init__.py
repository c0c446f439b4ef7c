"""The commands of `byoc-lab`: each file adds one, with `add(commands)`, and runs it."""
