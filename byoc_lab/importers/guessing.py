"""Finds shapes for inputs with unknown sizes by trial imports.

A network with windows, fixed slices or reshapes to constant shapes accepts only few sizes. The
search begins with a common shape and changes one size at a time, as long as the import converts
more nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product, zip_longest
from typing import Any

from byoc_lab.errors import ByocLabError, UnknownValueError
from byoc_lab.importers.given import Input, inputs_of, with_given
from byoc_lab.relay.analysis.guessed_sizes import guessed_sizes
from byoc_lab.relay.ir.module import IRModule

MAX_LENGTH = 4096  # number of steps: a recurrent layer becomes nodes for each step
MAX_ATTEMPTS = 64
MAX_NODES = 20_000  # number of nodes converted in all attempts together
IMAGES = (32, 48, 64, 96, 112, 128, 160, 192, 256, 288, 299, 320, 384, 416, 448, 512, 640)
SEQUENCES = (1, 32, 64, 128, 256, 512, 1024, 2048, 4096, 2, 4, 8)
BATCHES = (2, 4, 8)

Lengths = dict[Any, int]  # key: the name of an unknown size, or its input and axis


@dataclass(frozen=True)
class Attempt:
    """An import with shapes and values: the number of converted nodes, and the error, if any."""

    converted: int
    error: ByocLabError | None


@dataclass(frozen=True)
class Guess:
    """Shapes and values for inputs, and whether the model imports with them."""

    shape: dict[str, tuple[int, ...]] = field(default_factory=dict)
    freeze: dict[str, Any] = field(default_factory=dict)
    imports: bool = False

    @property
    def told(self) -> str:
        """The guess as text: arguments of an importer, and whether the import was tried."""
        given = f"shape={self.shape}" + (f", freeze={self.freeze}" if self.freeze else "")
        if self.imports:
            return f"{given} (tried: the model imports with them; others may be meant)"
        return f"{given} (a guess that does not import; change it to what the model expects)"


Importing = Callable[[Mapping[str, Any], Mapping[str, Any]], Attempt]


def guessed_inputs(
    inputs: Sequence[Input],
    given: Mapping[str, Sequence[Any]],
    known: Collection[str],
    importing: Importing,
    constants: Sequence[int] = (),
) -> Guess:
    """Shapes of the inputs that have unknown sizes.

    given: known shapes, with None for each unknown size. known: the names of     inputs that need
    no shape. importing: imports with shapes and values. constants: sizes that the model may expect,
    because its constants contain them.
    """
    return _Search(inputs, given, known, importing, constants).guess()


def guess_of_module(mod: IRModule) -> Guess:
    """Shapes for the parameters of @main that have unknown sizes."""

    def retyped(shape: Mapping[str, Any], freeze: Mapping[str, Any]) -> Attempt:
        try:
            with_given(mod, shape, freeze)
        except ByocLabError as error:
            return Attempt(0, error)
        return Attempt(0, None)

    return guessed_inputs(inputs_of(mod), {}, (), retyped)


class _Search:
    def __init__(
        self,
        inputs: Sequence[Input],
        given: Mapping[str, Sequence[Any]],
        known: Collection[str],
        importing: Importing,
        constants: Sequence[int],
    ):
        self.importing, self.constants = importing, constants
        self.tried: set[tuple[Any, ...]] = set()
        self.nodes = 0
        self.keys: dict[str, tuple[Any, ...]] = {}  # {input: sizes, or their keys}
        self.first: Lengths = {}
        self.choices: dict[Any, Sequence[int]] = {}
        for one in inputs:
            lengths = given.get(one.name, one.lengths)
            if lengths is None or one.name in known or all(isinstance(n, int) for n in lengths):
                continue
            self._add(one, lengths)

    def _add(self, one: Input, lengths: Sequence[Any]) -> None:
        names = one.lengths or ()
        stated = names if len(names) == len(lengths) else lengths
        keys: list[Any] = []
        for axis, (name, n) in enumerate(zip(stated, guessed_sizes(lengths), strict=True)):
            if isinstance(lengths[axis], int):
                keys.append(lengths[axis])
                continue
            keys.append(name if isinstance(name, str) else (one.name, axis))
            self.first.setdefault(keys[-1], n)
            usual = BATCHES if axis == 0 else IMAGES if len(lengths) == 4 else SEQUENCES
            self.choices.setdefault(keys[-1], usual)
        self.keys[one.name] = tuple(keys)

    def guess(self) -> Guess:
        if not self.first:
            return Guess()
        lengths = self.first
        freeze: dict[str, Any] = {}
        best = self._try(lengths, freeze)
        while best.error is not None:
            for moved, values in self._moves(lengths, freeze, best.error):
                found = self._try(moved, values)
                if found.error is None or found.converted > best.converted:
                    lengths, freeze, best = moved, values, found
                    break
            else:
                return Guess(self._shapes(self.first))
        return Guess(self._shapes(lengths), freeze, imports=True)

    def _try(self, lengths: Lengths, freeze: Mapping[str, Any]) -> Attempt:
        self.tried.add((*lengths.values(), *freeze.items()))
        found = self.importing(self._shapes(lengths), freeze)
        self.nodes += found.converted
        return found

    def _shapes(self, lengths: Lengths) -> dict[str, tuple[int, ...]]:
        return {
            name: tuple(key if isinstance(key, int) else lengths[key] for key in keys)
            for name, keys in self.keys.items()
        }

    def _moves(
        self, lengths: Lengths, freeze: Mapping[str, Any], error: ByocLabError
    ) -> Iterator[tuple[Lengths, dict[str, Any]]]:
        """The next attempts: other sizes, then the value that chooses a branch."""
        for moved in self._other_sizes(lengths):
            if (*moved.values(), *freeze.items()) in self.tried:
                continue
            if len(self.tried) >= MAX_ATTEMPTS or self.nodes >= MAX_NODES:
                break
            yield moved, dict(freeze)
        if isinstance(error, UnknownValueError) and error.freeze.keys() - freeze.keys():
            yield lengths, {**freeze, **error.freeze}

    def _other_sizes(self, lengths: Lengths) -> Iterator[Lengths]:
        """Square images, then other values of one size, the likely values of each size first; then
        other batch sizes."""
        sides = [key for key, choices in self.choices.items() if choices is IMAGES]
        if len(sides) > 1:
            yield from (lengths | dict.fromkeys(sides, n) for n in IMAGES)
        rows = [
            [(key, n) for n in dict.fromkeys((*choices, *self.constants))]
            for key, choices in self.choices.items()
            if choices is not BATCHES
        ]
        turns = [move for row in zip_longest(*rows) for move in row if move is not None]
        batches = [key for key, choices in self.choices.items() if choices is BATCHES]
        for key, n in (*turns, *product(batches, BATCHES)):
            yield {**lengths, key: n}
