"""TVM's parser names, diagnostics, and source locations of nodes."""
