"""Answers to "unshadow-a-table"."""

from __future__ import annotations


def answer(table):
    """The longest name first: a longer name has more operators."""
    return sorted(table, key=lambda entry: -entry[0].count("_"))


# Typical mistakes


def unchanged(table):
    return table


def without_the_plain_one(table):
    return answer(table)[:-1]


def plain_one_twice(table):
    return [*answer(table), answer(table)[-1]]


def renamed(table):
    return [(f"{name}_{n}", pattern) for n, (name, pattern) in enumerate(answer(table))]


def sorted_in_place(table):
    return table.sort(key=lambda entry: -entry[0].count("_"))


def sorted_by_pattern(table):
    return sorted(table, key=lambda entry: entry[1])


WRONG = {
    "shadowed": unchanged,
    "lost": without_the_plain_one,
    "doubled": plain_one_twice,
    "changed": renamed,
    "kind": sorted_in_place,
    "compared": sorted_by_pattern,
}
