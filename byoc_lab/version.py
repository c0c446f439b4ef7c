"""The version, in the lowest layer, because higher layers write it into files."""

VERSION = "0.2.0"
