"""From a module to what is drawn: boxes, groups of boxes, layout."""
