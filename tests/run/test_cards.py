"""What the cards of regions print."""

from __future__ import annotations

from byoc_lab.run.cards import HEAD, Cards, RegionCard


def test_error_and_tolerance_are_two_numbers() -> None:
    facts = {"compiler": "dnnl", "ran_on": "dnnl", "why": None, "operators": 3, "calls": 1}
    card = RegionCard("region", **facts, error=(4.6e-06, 5.1e-05))  # type: ignore[arg-type]
    assert str(card).endswith("3 operators, error 4.6e-06, tolerance 5.1e-05")
    unknown = RegionCard("other", **facts)  # type: ignore[arg-type]
    assert "error" not in str(unknown)
    assert len(card.cells()) == len(unknown.cells()) == len(HEAD)
    assert "<td>4.6e-06</td><td>5.1e-05</td>" in Cards([card, unknown])._repr_html_()
