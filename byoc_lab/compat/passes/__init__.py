"""Passes and analyses under TVM's names, where they differ from byoc_lab's."""
