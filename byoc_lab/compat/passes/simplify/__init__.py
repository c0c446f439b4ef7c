"""Passes that write the same computation with less, or in a simpler form."""
