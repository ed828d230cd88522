"""The quantities of the paper's analysis, measured on a run."""

from orthoprox.theory.lyapunov import Constants, Lyapunov

__all__ = ["Constants", "Lyapunov"]
