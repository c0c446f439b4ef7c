"""What the browser draws, as plain data, and how it is built."""
