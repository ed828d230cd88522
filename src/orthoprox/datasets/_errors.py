"""What can go wrong on the way to data."""

from __future__ import annotations


class DataUnavailable(RuntimeError):
    """A dataset cannot be had: not in the folder that was named, or not downloaded and no way to do it now."""


class DataDamaged(DataUnavailable):
    """A file is there but is not the one that was meant: a wrong checksum, or nothing that can be read."""
