"""Hostile text against parser, printer, passes, linter, diff and reference.

Whatever the text: every failure is an error of `byoc_lab.errors`, and it comes soon.

    python -m tests.fuzz --seconds 600            random texts for ten minutes
    python -m tests.fuzz --seed 1234              one text again, made as small as it gets
    make fuzz SECONDS=600 SEED=1234               the same
"""
