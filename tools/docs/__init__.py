"""Makes the documentation site."""
