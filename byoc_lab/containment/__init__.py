"""Other processes: what they see, may ask the kernel for and may use, and how they end."""
