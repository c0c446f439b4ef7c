"""Right answers other than the given solutions, as students write them; one file per exercise."""
