"""Convex terms that are meant to be subtracted, one per file."""
