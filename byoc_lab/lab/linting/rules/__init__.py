"""The rules, one a file; found by discovery."""
