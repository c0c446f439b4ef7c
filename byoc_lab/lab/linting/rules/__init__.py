"""The lint rules, one per file; found by discovery."""
