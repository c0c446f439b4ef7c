"""Fuzzing with ten kinds of hostile input (see `attacks/`): all that reads, runs or displays.

For every input, a failure raises an error of `byoc_lab.errors` within a time limit, and memory is
bounded.

    python -m tests.fuzz --seconds 600              all kinds, ten minutes together
    python -m tests.fuzz --seconds 600 --jobs 4     the same, four kinds at a time
    python -m tests.fuzz --kind files --seed 1234   one input again, reduced
    make fuzz SECONDS=600; make fuzz KIND=files SEED=1234       the same

Failing inputs are kept in `samples/` under their kind and seed; `test_fuzz.py` examines them all.
"""
