"""Answers to "fix-the-name"."""

from __future__ import annotations


def answer(name):
    return name.replace("edu_", "edu.", 1)


# Typical mistakes


def unchanged(name):
    return name


def reversed_parts(name):
    return name.replace("edu_", "") + ".edu"


def capitals(name):
    return name.replace("edu_", "EDU.")


def only_the_library(name):
    return "edu."


def a_list(name):
    return [answer(name)]


WRONG = {
    "no-dot": unchanged,
    "other-target": reversed_parts,
    "case": capitals,
    "no-kernel": only_the_library,
    "kind": a_list,
}
