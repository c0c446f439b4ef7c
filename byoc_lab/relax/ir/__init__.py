"""Reading modules of Relax: operator calls, variables, types, sizes that are not known."""
