"""PyTorch's derivatives, by ``torch.func``: nothing in place and no ``.grad``, so that vmap and CUDA graphs apply.

Parameters in a user's function that are being learnt are constants here: nothing is recorded for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from orthoprox._types import Array, Scalar
from orthoprox.backends.autodiff import Product, Way, check_number, first_that_works, refusal

_NAME = "PyTorch"
_ERRORS = (RuntimeError, NotImplementedError)


class TorchDerivatives:
    """Value, gradient and Hessian products of one function of a tensor.

    The products are reverse over reverse: the gradient is recorded once, and each product runs back through it. The
    derivative of the gradient along V, forward over reverse, would compute the gradient anew for each product.
    """

    def __init__(self, function: Callable[[Array], Any], owner: str) -> None:
        self.function, self.owner = function, owner
        self._way: Way | None = None
        self._tried = False

    def value(self, X: Array) -> Scalar:
        before = _version(X)
        with torch.no_grad():
            out = self.function(X)
        check_number(out, self.owner)
        self._check_unchanged(X, before)
        return out.detach() if isinstance(out, torch.Tensor) else out

    def both(self, X: Array) -> tuple[Scalar, Array]:
        before = _version(X)
        with torch.no_grad():
            try:
                G, value = torch.func.grad_and_value(self._checked)(X)
            except torch.cuda.OutOfMemoryError:
                raise
            except _ERRORS as error:
                self.function(X)  # an error of its own is no matter of derivatives
                raise refusal(self.owner, _NAME, f"{str(error).splitlines()[0].rstrip('.')}.") from error
        self._check_unchanged(X, before)
        return value.detach(), G.detach()

    def hessian(self, X: Array) -> Product | None:
        if not self._tried:
            ways = (self._by_reverse, self._by_forward)
            self._way, self._tried = first_that_works(ways, lambda X: self.both(X)[1], X, _ERRORS), True
        return None if self._way is None else self._way(X)

    def _by_reverse(self, X: Array) -> Product:
        with torch.no_grad():
            _, pull = torch.func.vjp(torch.func.grad(self._checked), X)

        def product(V: Array) -> Array:
            with torch.no_grad():
                (HV,) = pull(V)
            return HV.detach()

        return product

    def _by_forward(self, X: Array) -> Product:
        def product(V: Array) -> Array:
            with torch.no_grad():
                _, HV = torch.func.jvp(torch.func.grad(self._checked), (X,), (V,))
            return HV.detach()

        return product

    def _checked(self, X: Array) -> Array:
        """The function, refused where its value has lost its way back to X."""
        out = self.function(X)
        check_number(out, self.owner)
        if not isinstance(out, torch.Tensor):
            raise refusal(self.owner, _NAME, f"it returned a {type(out).__name__}, not a tensor.")
        if not out.is_floating_point():
            raise refusal(self.owner, _NAME, f"it returned a number of type {out.dtype}, not a float.")
        if not out.requires_grad:
            # Otherwise the gradient would be zero without a word.
            raise refusal(
                self.owner,
                _NAME,
                "its value does not depend on X by operations that can be differentiated; detach(), item(), numpy() "
                "and torch.tensor() cut it off.",
            )
        return out

    def _check_unchanged(self, X: Array, before: int | None) -> None:
        if before != _version(X):
            raise ValueError(
                f"The function of {self.owner} changed its argument X in place, which spoils the run. Work on a new "
                "tensor: X * 2 instead of X.mul_(2)."
            )


def _version(X: Array) -> int | None:
    """How often a tensor has been changed in place; None where PyTorch does not count."""
    return None if X.is_inference() else X._version
