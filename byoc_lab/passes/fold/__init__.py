"""Passes that compute values at compile time: constants, weights and attributes."""
