"""Passes that compute ahead: into constants, weights and attributes."""
