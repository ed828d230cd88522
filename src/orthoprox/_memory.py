"""How much fits into memory, asked before anything large is made."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux keeps the limit of a container."""
UNKNOWN = 2**62
SHARE = 0.5
"""The part of the memory that one thing may fill: it is copied when it is prepared."""


def memory() -> int:
    """The bytes this process may hold: the memory of the machine, or a lower limit of its container or its shell."""
    found = [_installed()]
    for file in LIMITS:
        try:
            found.append(int(Path(file).read_text("ascii")))
        except (OSError, ValueError):  # another system, or the word "max"
            continue
    if sys.platform != "win32":
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        found += [soft] if soft != resource.RLIM_INFINITY else []
    return min(found)


def _installed() -> int:
    """The memory of the machine."""
    if sys.platform == "win32":
        import ctypes

        return _of_windows(ctypes.windll.kernel32)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):  # a system that does not say
        return UNKNOWN


def _of_windows(kernel: Any) -> int:
    """The same from GlobalMemoryStatusEx: it fills 64 bytes, that number first and the memory in the second eight."""
    import ctypes

    status = (ctypes.c_uint64 * 8)(64)
    return int(status[1]) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else UNKNOWN


def check_memory(numbers: int, what: str) -> None:
    """Refuse what cannot be held, before it is made.

    Parameters
    ----------
    numbers : int
        How many numbers of eight bytes it takes.
    what : str
        What it is, for the sentence.

    Examples
    --------
    >>> check_memory(10**6, "A million numbers")
    >>> check_memory(10**18, "10**9 by 10**9 numbers")
    Traceback (most recent call last):
    ValueError: 10**9 by 10**9 numbers would take ... GiB of memory; at most ... GiB can be used here. Ask for less.
    """
    most = int(SHARE * memory())
    if 8 * numbers > most:
        size = f"{8 * numbers / 2**30:,.0f}" if numbers < 10**18 else "more than 10^9"
        raise ValueError(
            f"{what} would take {size} GiB of memory; at most {most / 2**30:.1f} GiB can be used here. Ask for less."
        )
