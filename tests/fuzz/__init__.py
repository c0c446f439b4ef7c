"""Hostile input of ten kinds (see `attacks/`) against everything that reads, runs and shows.

Whatever the input: every failure is an error of `byoc_lab.errors`, it comes soon, and memory stays
bounded.

    python -m tests.fuzz --seconds 600              every kind for its part of ten minutes
    python -m tests.fuzz --seconds 600 --jobs 4     the same, four kinds at a time
    python -m tests.fuzz --kind files --seed 1234   one input again, made as small as it gets
    make fuzz SECONDS=600; make fuzz KIND=files SEED=1234       the same

What fails is kept in `samples/` under its kind and seed; `test_fuzz.py` examines all of these.
"""
