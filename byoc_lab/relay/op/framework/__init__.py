"""The framework for operator definitions: registry, builders, shared relations, layouts, costs."""
