"""Other right answers to "unshadow-a-table"."""

from __future__ import annotations


def by_length(table):
    return sorted(table, key=lambda entry: len(entry[0]), reverse=True)


def by_names(table):
    entries = {name: (name, pattern) for name, pattern in table}
    order = ("edu.conv2d_bias_relu", "edu.conv2d_relu", "edu.conv2d_bias", "edu.conv2d")
    return tuple(entries[name] for name in order)


def larger_ones_forward(table):
    table = list(table)
    for entry in list(table):
        if entry[0].endswith("bias_relu"):
            table.remove(entry)
            table.insert(0, entry)
        if entry[0] == "edu.conv2d":
            table.remove(entry)
            table.append(entry)
    return table


RIGHT = (by_length, by_names, larger_ones_forward)
