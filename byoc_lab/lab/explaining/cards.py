"""Warnings from the cards of an executable about the regions of a back end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from byoc_lab.errors import ArgumentError


@runtime_checkable
class Card(Protocol):
    """The symbol, back end and warning ("" for none) of a region's card."""

    @property
    def symbol(self) -> str: ...

    @property
    def compiler(self) -> str: ...

    @property
    def warning(self) -> str: ...


def warnings_of(cards: Sequence[Card] | Any, target: str, who: str) -> dict[str, str]:
    """The warnings of the regions of a back end, by symbol. Raises ArgumentError for anything other
    than cards."""
    if not isinstance(cards, Sequence) or not all(isinstance(card, Card) for card in cards):
        raise ArgumentError(
            f"{who} takes the cards of an executable, cards=exe.cards(), found "
            f"{type(cards).__name__} {cards!r:.80}"
        )
    return {card.symbol: card.warning for card in cards if card.compiler == target}
