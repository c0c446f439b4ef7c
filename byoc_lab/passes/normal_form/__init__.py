"""Passes that change how values are named and grouped: normal forms, inlining, fusion."""
