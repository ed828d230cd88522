"""Smooth terms, one per file."""
