"""What can go wrong with data that are read in blocks; each error is a sentence."""

from __future__ import annotations


class DataLost(RuntimeError):
    """Rows of the data cannot be had any more: a file cannot be read, or the machines that held them are gone."""


class BlockUnreadable(DataLost):
    """A block of rows that its storage does not give."""


class ClusterLost(DataLost):
    """The scheduler, or every worker, has gone."""
