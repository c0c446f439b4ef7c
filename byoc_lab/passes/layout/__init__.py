"""Passes that change the layouts of tensors, and replace operators for a target."""
