"""Pattern tables of Relax: translated from Relay, checked, and explained entry by entry."""
