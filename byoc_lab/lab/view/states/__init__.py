"""Builds the states that the browser draws, as plain data."""
