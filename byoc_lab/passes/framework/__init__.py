"""The pass framework: passes, contexts, sequences, instruments, events, rewriting, pipelines."""
