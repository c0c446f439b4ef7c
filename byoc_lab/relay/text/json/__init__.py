"""Nodes, attributes and arrays as the JSON of TVM: metadata sections, saved modules."""
