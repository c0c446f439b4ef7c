"""Child processes: the files and system calls available to them, their resource limits, and their
termination."""
