"""The states that the browser draws, as plain data, and their construction."""
