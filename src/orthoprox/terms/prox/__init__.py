"""Terms with an exact proximal map, one per file."""
