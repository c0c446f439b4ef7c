"""The exercise on a missing end."""

from __future__ import annotations

from collections.abc import Mapping

from byoc_lab import relay
from byoc_lab.lessons.exercises.base import ModuleExercise
from byoc_lab.lessons.structure import RegionShape
from byoc_lab.lessons.tools import conv, library, module_of
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin

HOST = ("exp", "erf", "sqrt")


class AddTheMissingEnd(ModuleExercise):
    """A region that begins but never ends: without an end, PartitionGraph cuts nothing out.

    Students learn that ends define regions: PartitionGraph walks back from an end to the begins.
    """

    name = "add-the-missing-end"
    title = "Add the missing end"
    statement = """\
The values that enter the conv2d have a `compiler_begin` of `edu`, but nothing says where that
region ends. The library computes conv2d and relu. It has no counterpart of the last operator, here
`$host`, which belongs to the host.

Write `answer(mod)`. It returns the module with conv2d and all the relus after it in one region of
`edu`, the last operator outside, and nothing else changed. Variants differ in the last operator
($hosts) and in the number of relus.
"""
    stub = """\
from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay.op.annotation.regions import compiler_end


def answer(mod):
    def change(call):
        return call  # which call is the last one inside the region?

    return change_calls(mod, change)
"""
    mistakes = {
        "BYL002": "The begins are there, and no end: nothing will be cut out. Where does the value "
        "leave the library for the host?",
        "BYL006": "An end and the begins of one region must name the same compiler.",
        "BYL001": "There is also an end inside the region: between the conv2d and the last "
        "relu the value does not leave the library.",
        "other-regions": "The region goes too far: the operator of the host is inside.",
        "no-region": "The begins are gone too. Keep them, and add an end.",
        "network": "The operators have changed. Only wrap a call in compiler_end.",
    }
    hints = (
        "The value leaves a region where an operator outside uses it. Put compiler_end around "
        "that value, once.",
        "Which call is used by the operator of the host? In change(call) you see each call with "
        "its new arguments: change the argument of the host's operator.",
    )

    def words(self, seed: int) -> Mapping[str, str]:
        hosts = [f"`{name}`" for name in HOST]
        return {"host": _host(seed), "hosts": f"{', '.join(hosts[:-1])} or {hosts[-1]}"}

    def plain(self, seed: int = 0) -> IRModule:
        return module_of(self._network(seed, begins=False))

    def start(self, seed: int = 0) -> IRModule:
        return module_of(self._network(seed, begins=True))

    def _network(self, seed: int, begins: bool) -> relay.Expr:
        library()
        size = 8 + seed % 5
        values = (
            relay.var("data", shape=(1, 3, size, size)),
            relay.var("weight", shape=(4, 3, 3, 3)),
        )
        data, weight = (compiler_begin(v, "edu") if begins else v for v in values)
        out = conv(data, weight, 4)
        for _ in range(1 + seed % 2):
            out = relay.nn.relu(out)
        return getattr(relay, _host(seed))(out)

    def regions_of(self, seed: int) -> tuple[RegionShape, ...]:
        return (("edu", ("nn.conv2d", *["nn.relu"] * (1 + seed % 2))),)


def _host(seed: int) -> str:
    return HOST[seed % len(HOST)]
