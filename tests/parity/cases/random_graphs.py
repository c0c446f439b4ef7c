"""Random graphs of operators for the targets A and B of `tables.py` and for no target.

The case `random_graphs.seed_<n>` is the graph of that seed, the same on both sides. It has no
tuples except those of `split`: the oracle gives tuples other targets (see `fork.py`).
"""

from __future__ import annotations

SHAPE = (4, 6)
UNARY = ("nn.relu", "abs", "exp", "negative")
BINARY = ("add", "multiply", "subtract")


def build(tvm, relay, np, seed):
    """8 to 20 operators on recently computed values; unused results are summed."""
    random = np.random.RandomState(seed)

    def chosen(names):
        return names[random.randint(len(names))]

    def call(name, *args):
        return relay.Call(relay.op.get(name), list(args))

    def operand():
        if random.randint(8) == 0:
            return relay.const(float(random.randint(1, 9)), "float32")
        return values[-1 - random.randint(min(4, len(values)))]

    values = [relay.var(name, shape=SHAPE) for name in "xyz"]
    loose = []
    for _ in range(random.randint(8, 20)):
        kind = random.randint(8)
        first = values[-1 - random.randint(min(4, len(values)))]
        if kind < 4:
            node = call(chosen(UNARY), first)
        elif kind < 7:
            node = call(chosen(BINARY), first, operand())
        else:
            halves = relay.split(first, 2, axis=1)
            node = relay.nn.pad(call("add", halves[0], halves[1]), ((0, 0), (0, SHAPE[1] // 2)))
        values.append(node)
        if random.randint(4) == 0:
            loose.append(node)
    result = values[-1]
    for node in loose:
        result = call(chosen(BINARY), result, node)
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(result), result))


def __getattr__(name):
    if not name.startswith("seed_"):
        raise AttributeError(f"no case {name!r} here; the cases are seed_0, seed_1, ...")
    return lambda tvm, relay, np: build(tvm, relay, np, int(name.removeprefix("seed_")))
