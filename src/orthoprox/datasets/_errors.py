"""Errors in loading data."""

from __future__ import annotations


class DataUnavailable(RuntimeError):
    """A dataset is missing: it is not in the given folder, or could not be downloaded."""


class DataDamaged(DataUnavailable):
    """A file is there but has a wrong checksum or cannot be read."""
