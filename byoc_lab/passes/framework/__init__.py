"""What passes are made of: pass, context, sequence, instruments, events, rewriting, pipelines."""
