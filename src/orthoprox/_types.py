"""The two names that stand for numbers everywhere.

An array may belong to NumPy, PyTorch, JAX or any library that keeps the array API standard. The
standard has no static type yet, so both names are ``Any`` for the type checker and documentation for us.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Array: TypeAlias = Any
"""A two-dimensional array of floats, unless said otherwise."""

Scalar: TypeAlias = Any
"""A Python float or an array without dimensions."""
