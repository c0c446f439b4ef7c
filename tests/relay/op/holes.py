"""The sample calls with each argument in turn untyped: type relations infer argument types, too."""

from __future__ import annotations

import re

from byoc_lab.relay import IRModule
from tests.relay.op.samples import SAMPLES

X1, X2, X3 = (f"Tensor[(1, 4, {', '.join('8' * rank)}), float32]" for rank in (1, 2, 3))
W1, W2, W3 = (f"Tensor[(6, 4, {', '.join('3' * rank)}), float32]" for rank in (1, 2, 3))
# Calls whose attributes determine the weight's type.
WEIGHTS = [
    ("nn.conv1d(%x0, %x1, channels=6, kernel_size=[3])", X1, W1),
    ("nn.conv2d(%x0, %x1, channels=6, kernel_size=[3, 3])", X2, W2),
    ("nn.conv3d(%x0, %x1, channels=6, kernel_size=[3, 3, 3])", X3, W3),
    (
        'nn.conv2d(%x0, %x1, channels=6, kernel_size=[3, 3], data_layout="NHWC", '
        'kernel_layout="HWIO")',
        "Tensor[(1, 8, 8, 4), float32]",
        "Tensor[(3, 3, 4, 6), float32]",
    ),
    (
        "nn.conv2d(%x0, %x1, groups=2, channels=6, kernel_size=[3, 3])",
        X2,
        "Tensor[(6, 2, 3, 3), float32]",
    ),
    (
        "nn.conv2d(%x0, %x1, groups=4, channels=4, kernel_size=[3, 3])",
        X2,
        "Tensor[(4, 1, 3, 3), float32]",
    ),
    (
        "nn.conv2d_transpose(%x0, %x1, channels=6, kernel_size=[3, 3])",
        X2,
        "Tensor[(4, 6, 3, 3), float32]",
    ),
    ("nn.dense(%x0, %x1, units=5)", "Tensor[(2, 4), float32]", "Tensor[(5, 4), float32]"),
]


def holes() -> dict[str, str]:
    """Modules by "sample label, parameter"; for several samples of an operator, only the first."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for sample in SAMPLES:
        if sample.source or sample.op in seen or not sample.shapes:
            continue
        seen.add(sample.op)
        text = IRModule.from_expr(sample.function()).astext()
        found |= _without(sample.label, text, len(sample.shapes))
    for call, *types in WEIGHTS:
        params = ", ".join(f"%x{n}: {ty}" for n, ty in enumerate(types))
        text = f'#[version = "0.0.5"]\ndef @main({params}) {{\n  {call}\n}}\n'
        found |= _without(call, text, len(types))
    return found


def _without(name: str, text: str, count: int) -> dict[str, str]:
    """Modules that lack the type of one parameter each."""
    found = {}
    for n in range(count):
        # The type of a parameter ends before the next parameter, or at the end of the list.
        after = rf"(?=, %x{n + 1}:|\) (->|\{{))"
        found[f"{name}, {n}"], changed = re.subn(rf"(%x{n}): .*?{after}", r"\1", text, count=1)
        assert changed == 1
    return found
