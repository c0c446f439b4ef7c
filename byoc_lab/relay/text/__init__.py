"""Relay's text format: lexer, parser, printer, and the metadata section."""
