"""Other processes: the files and system calls available to them, their limits, and their ends."""
