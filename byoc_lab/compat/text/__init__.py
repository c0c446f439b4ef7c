"""TVM's texts: the parser's names, diagnostics, places of nodes."""
