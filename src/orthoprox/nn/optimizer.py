"""Stochastic OADMM-EP as an optimiser of PyTorch."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from orthoprox.nn import _support
from orthoprox.nn._graphs import Replay, not_compiled
from orthoprox.nn._groups import (
    OWN,
    as_groups,
    by_shape,
    check_callables,
    check_group,
    check_norm,
    check_numbers,
    check_overlap,
    check_penalty,
    check_state,
    divide,
    make_base,
    penalty_for,
    places_of,
)
from orthoprox.nn._host import Scratch
from orthoprox.nn._marks import OWNERS, check_kind, mark_count, mark_of, marked
from orthoprox.nn._penalty import Penalty
from orthoprox.nn._precision import full_precision
from orthoprox.nn._stack import Rule, Stack
from orthoprox.nn._watch import Watch


class OrthoProx(torch.optim.Optimizer):  # type: ignore[misc]
    """Train a model whose marked parameters stay orthonormal, with penalties that make them sparse.

    For a marked weight W a step minimises the linearised augmented Lagrangian of loss + h(y) - g(W) with W = y over
    the orthonormal matrices, then applies the prox of h to y, then moves the multiplier z: Algorithm 1 of the paper
    (OADMM-EP) with a gradient of a mini-batch, averaged over steps. Without a penalty it is projected gradient
    descent with Nesterov's momentum. All marked parameters of one shape take their step together, and the projection is
    made of products alone. Parameters that are not marked are left to another optimiser.

    Parameters
    ----------
    params : iterable of parameters or of groups, or nn.Module
        What ``torch.optim`` takes, or the model itself.
    lr : float
        The step size, with the meaning it has in ``torch.optim.SGD``; with ``betas`` the relative length of a step:
        about lr times the norm of the weight.
    momentum : float
        As in ``torch.optim.SGD``; in [0, 1).
    betas : pair of float, optional
        Scale steps as Adam does, by running means of the gradient and of its square, but with one number for each
        matrix, so that the direction stays what it is; instead of ``momentum``.
    penalty : term or sum of terms, optional
        For marked parameters without a penalty of their own.
    weight_schedule : callable, optional
        The factor on all penalties as a function of the step, which counts from 0; say
        ``lambda t: min(1.0, t / 1000)``.
    nesterov : bool
        Whether marked weights take Nesterov's form of momentum, as in ``torch.optim.SGD``; with ``betas`` it plays no
        part.
    tangent : bool
        Whether a step goes along the tangent part of the gradient, as in Riemannian optimisers, at the price of two
        more products. It bears a larger lr, and may be worth a trial where the last tenth of a point counts.
    norm : {"frobenius", "spectral"}
        In which norm a step is the steepest: ``"spectral"`` moves all directions of the tangent space at one rate, as
        Muon does without constraints. It was the most accurate on the digits, with the lr of ``tangent``, but a step
        takes about ten times as long. None is refused or shortened: its length is bounded. Let lr fall to zero.
    base : callable, optional
        Makes the optimiser for parameters that are not marked, from a list of groups; by default
        ``torch.optim.SGD`` with the same lr and momentum, or ``torch.optim.Adam`` with the same lr and betas.
    beta, theta, sigma, tau, xi, p : float
        The constants of Algorithm 1. The penalty of the splitting is ``beta L (1 + xi t^p)`` with the curvature
        L = (1 - momentum)/lr, the step 1/(theta (L + penalty)), the smoothing tau/penalty, and sigma over-relaxes the
        multiplier. The defaults smooth nothing, so that y has exact zeros.
    graphs : bool
        Whether steps on a GPU may be recorded as CUDA graphs.

    Examples
    --------
    >>> import torch
    >>> from orthoprox.nn import OrthoProx, orthogonal_
    >>> from orthoprox.terms import L1
    >>> layer = orthogonal_(torch.nn.Linear(6, 3, bias=False))
    >>> optimizer = OrthoProx(layer.parameters(), lr=0.1, penalty=0.05 * L1())
    >>> for _ in range(200):
    ...     optimizer.zero_grad()
    ...     (layer.weight[0, 0] - 1).square().backward()
    ...     optimizer.step()
    >>> (optimizer.split(layer.weight) != 0).sum().item()
    3
    """

    def __init__(
        self,
        params: Any,
        lr: float,
        momentum: float = 0.9,
        betas: tuple[float, float] | None = None,
        penalty: Any = None,
        weight_schedule: Callable[[int], float] | None = None,
        base: Callable[[list[dict[str, Any]]], Any] | None = None,
        *,
        nesterov: bool = True,
        tangent: bool = False,
        norm: str = "frobenius",
        beta: float = 1.0,
        theta: float = 1.0,
        sigma: float = 1.0,
        tau: float = 0.0,
        xi: float = 0.0,
        p: float = 1 / 3,
        graphs: bool = True,
    ) -> None:
        check_numbers(lr, momentum, betas, beta, theta, sigma, tau, xi, p)
        check_callables(weight_schedule, base)
        self.rule = Rule(beta, theta, sigma, tau, xi, p)
        self.penalty, self.weight_schedule, self._graphs = penalty, weight_schedule, graphs
        self.nesterov, self.tangent, self.norm = nesterov, tangent, check_norm(norm)
        self._make_base = base
        self.base: Any = None
        self._built: dict[Any, tuple[Stack, Replay, Watch]] = {}
        self._sorted: dict[int, Any] = {}
        self._scratch = Scratch()
        self._marks = -1
        defaults: dict[str, Any] = {"lr": lr, "momentum": momentum, "step": 0}
        if betas is not None:  # schedulers that vary the momentum ask which of the two there is
            defaults["betas"] = betas
        named = dict(params.named_parameters()) if isinstance(params, nn.Module) else None
        if isinstance(params, nn.Module):
            list(marked(params))  # a copied module puts its marks back
            params = params.parameters()
        groups = as_groups(params)
        self._names = {id(p): name for name, p in (named or {}).items()}
        own, others = divide(groups)
        for group in own:
            check_group(group, defaults)
        if not any(group["params"] for group in own):
            raise ValueError(
                "None of these parameters is marked: call orthogonal_ on the modules first. A deep copy of a model "
                "loses the marks of its parameters; pass the model itself, as in OrthoProx(model, lr=0.05)."
            )
        super().__init__(own, defaults)
        self._share(others)
        self._own(own)

    def _own(self, groups: list[dict[str, Any]]) -> None:
        """Check marked parameters, and make them those of this optimiser."""
        new = [p for group in groups for p in group["params"]]
        before = {id(p): (p, group[OWN]) for group in self.param_groups for p in group["params"]}
        known = {**before, **{id(p): (p, True) for p in new}}.values()
        check_overlap([p for p, mine in known if mine], [p for p, mine in known if not mine])
        for p in new:
            check_penalty(p, self.penalty)
        for p in new:
            OWNERS[p] = weakref.ref(self)

    def _share(self, others: list[dict[str, Any]]) -> None:
        """Make the other optimiser one with this: same groups, same state, so that both are saved and scheduled."""
        if not any(group["params"] for group in others):
            return
        for group in others:
            group.setdefault("lr", self.defaults["lr"])
        self.base = make_base(self._make_base or self._default_base, others)
        for group in self.base.param_groups:
            group[OWN] = False
        self.param_groups.extend(self.base.param_groups)
        self._reshare()

    def _reshare(self) -> None:
        if self.base is not None:
            self.base.param_groups = [group for group in self.param_groups if not group[OWN]]
            self.base.state = self.state

    def _default_base(self, groups: list[dict[str, Any]]) -> Any:
        lr, momentum, betas = (self.defaults.get(name) for name in ("lr", "momentum", "betas"))
        if betas is not None:
            return torch.optim.Adam(groups, lr=lr, betas=betas)
        return torch.optim.SGD(groups, lr=lr, momentum=momentum)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("An OrthoProx is not copied or pickled; save its state_dict, and load that into a new one.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._built, self._sorted = {}, {}
        self._reshare()

    def load_state_dict(self, state_dict: Any) -> None:
        """Go on where a saved run was; the numbers that follow are those of a run without a break."""
        check_state(state_dict, self.param_groups)
        super().load_state_dict(state_dict)
        self._built, self._sorted = {}, {}
        self._reshare()
        if self.base is not None:
            self.base.__setstate__({"state": self.state, "param_groups": self.base.param_groups})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, marked or not; a group may not have both."""
        own, others = divide(as_groups([param_group]))
        if hasattr(self, "base") and own[0]["params"] and others[0]["params"]:
            raise ValueError("This group has marked and other parameters: add them as two groups.")
        if not hasattr(self, "base"):
            super().add_param_group(own[0])
        elif own[0]["params"]:
            check_group(own[0], self.defaults)
            self._own(own)
            super().add_param_group(own[0])
        elif self.base is None:
            self._share(others)
        else:
            self.base.add_param_group({**others[0], OWN: False})
            self.param_groups.append(self.base.param_groups[-1])

    @not_compiled
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step; with a closure its loss is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._check_marks()
        for index, group in enumerate(self.param_groups):
            if group[OWN]:
                self._step_group(index, group)
        if self.base is not None:
            self.base.step()
        return loss

    def _check_marks(self) -> None:
        """Refuse parameters that were marked too late; nothing to do unless some mark has changed."""
        if self._marks == mark_count():
            return
        for p in (p for group in self.param_groups if not group[OWN] for p in group["params"]):
            if mark_of(p) is not None:
                raise RuntimeError(
                    f"{self._name(p)} was marked after this optimiser was made, which does not keep it orthonormal: "
                    "call orthogonal_ first, then make the optimiser."
                )
        self._marks = mark_count()

    def _step_group(self, index: int, group: dict[str, Any]) -> None:
        present = [p for p in group["params"] if p.grad is not None]
        if not present:
            return
        if group["lr"] == 0:
            return  # a schedule may begin there
        check_numbers(group["lr"], group["momentum"], group.get("betas"))
        numbers = self._numbers(group)
        with torch.no_grad():
            for key, params in self._sort(index, present):
                if key[0] == "support":
                    for p in params:
                        _support.step(p, self.state[p], group, self._watched, nesterov=self.nesterov)
                else:
                    self._step_stack((index, *key), params, group, numbers)
        group["step"] += 1

    def _sort(self, index: int, present: list[Any]) -> list[tuple[Any, list[Any]]]:
        """The parameters of a group that take their steps together; sorted again only when something has changed."""
        same = (mark_count(), places_of(present))
        known = self._sorted.get(index)
        if known is None or known[0] != same:
            known = self._sorted[index] = same, by_shape(present)
            self._drop_stale({id(p): (index, *key) for key, params in known[1] for p in params})
        if any(p.grad.is_sparse for p in present):
            raise ValueError(
                "A marked parameter has a sparse gradient; a step moves every entry. Use a dense one, for "
                "nn.Embedding with sparse=False."
            )
        return known[1]

    def _drop_stale(self, keys: dict[int, Any]) -> None:
        """Forget stacks of parameters that have moved, or belong to another one now; their state stays."""
        for key, (stack, _, _) in list(self._built.items()):
            if stack.moved() or any(keys.get(id(p), key) != key for p in stack.params):
                del self._built[key]

    def _numbers(self, group: dict[str, Any]) -> tuple[float, ...]:
        """Curvature, weight, penalty over curvature, and the corrections of both moments for their start at zero."""
        t, lr, betas = group["step"], float(group["lr"]), group.get("betas")
        weight, growth = self.weight(group), self.rule.growth(t)
        if betas is None:
            return (1.0 - group["momentum"]) / lr, weight, growth, 1.0, 1.0
        return 1.0 / lr, weight, growth, 1 / (1 - betas[0] ** (t + 1)), 1 / (1 - betas[1] ** (t + 1))

    def weight(self, group: dict[str, Any]) -> float:
        """The factor on the penalties at the present step of a group."""
        weight = 1.0 if self.weight_schedule is None else self.weight_schedule(group["step"])
        try:
            weight = float(weight)
        except (TypeError, ValueError):
            raise TypeError(f"weight_schedule must give a number for each step; given {weight!r}.") from None
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"weight_schedule must give a number that is not negative; given {weight}.")
        return weight

    def penalty_of(self, p: Any) -> Penalty | None:
        """The penalty of a marked parameter: its own, or that of the optimiser."""
        return penalty_for(p, self.penalty)

    def _step_stack(self, key: Any, params: list[Any], group: dict[str, Any], numbers: tuple[float, ...]) -> None:
        scaled = group.get("betas") is not None
        stack, move, watch = self._built.get(key) or self._build(key, params, scaled)
        if stack.params is not params and [id(p) for p in stack.params] != [id(p) for p in params]:
            stack, move, watch = self._build(key, params, scaled)
        self._look(stack, watch)
        stack.set_knobs(*numbers)
        fresh, square = (1 - group["momentum"], None) if not scaled else (1 - group["betas"][0], 1 - group["betas"][1])
        stack.average(fresh, square)
        move()
        watch.send(stack.worst)
        if not stack.X.is_cuda:
            self._look(stack, watch)

    def _build(self, key: Any, params: list[Any], scaled: bool) -> tuple[Stack, Replay, Watch]:
        marks = [mark for p in params if (mark := mark_of(p)) is not None]
        assert len(marks) == len(params)
        for p in params:
            check_kind(p)
            OWNERS[p] = weakref.ref(self)  # of several optimisers the one that moves it
            held = [v for v in self.state[p].values() if isinstance(v, torch.Tensor)]
            if any(v.device != p.device for v in held):
                raise ValueError(
                    f"{self._name(p)} is on {p.device} and its optimiser state on {held[0].device}: move the model "
                    "before the optimiser is made, or load the state again."
                )
        penalty = penalty_for(params[0], self.penalty)
        with full_precision(params[0]):
            how: Any = {"nesterov": self.nesterov and not scaled, "tangent": self.tangent, "norm": self.norm}
            stack = Stack(params, marks, penalty, self.rule, self.state, self._scratch, **how)
            self._tell(stack.repair([self._name(p) for p in params]))

        def whole() -> None:
            with full_precision(stack.X):
                stack.read()
                stack.move(scaled)
                stack.write()

        built = stack, Replay(whole, stack.X, stack.X.numel(), self._graphs), Watch(stack.worst)
        self._built[key] = built
        return built

    def _look(self, stack: Stack, watch: Watch, wait: bool = False) -> None:
        """See whether an earlier step was refused, and do what is needed then."""
        worst = watch.receive(wait)
        if worst is not None and not worst <= stack.reach:
            with full_precision(stack.X):
                self._tell(stack.repair([self._name(p) for p in stack.params]))

    def _watched(self, p: Any, sentence: str) -> None:
        self._tell([f"{self._name(p)}: {sentence}"])

    def _tell(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            warnings.warn(sentence, RuntimeWarning, stacklevel=5)

    def _name(self, p: Any) -> str:
        return str(self._names.get(id(p), f"a parameter of shape {tuple(p.shape)}"))

    def split(self, p: Any) -> Any:
        """The split variable y of a marked parameter, in its shape: near the weight, and with exact zeros.

        Before the first step, without a penalty, and after :func:`finish_` it is the weight itself.
        """
        mark = mark_of(p)
        if mark is None:
            raise ValueError(f"{self._name(p)} is not marked: it has no split variable.")
        y = p.detach().clone()
        if mark.support is not None:
            return y
        stack = next((s for s, _, _ in self._built.values() if any(q is p for q in s.params)), None)
        if stack is not None and stack.penalty is not None:
            group = next(g for g in self.param_groups if any(q is p for q in g["params"]))
            mark.write(y, stack.piece(p, stack.sparse_split(self.rule.growth(max(group["step"] - 1, 0)))))
        elif "y" in self.state.get(p, {}):
            mark.write(y, self.state[p]["y"])
        return y

    def multiplier(self, p: Any) -> Any:
        """The multiplier z of a marked parameter, in its shape; zero without a penalty and after :func:`finish_`."""
        mark, z = mark_of(p), torch.zeros_like(p.detach())
        if mark is not None and mark.support is None and "z" in self.state.get(p, {}):
            mark.write(z, self.state[p]["z"])
        return z

    def shortened(self) -> int:
        """How many matrices take a step shorter than lr next, as a whole one may be too long. Waits for the device."""
        return sum(int((stack.trust < 1).sum()) for stack, _, _ in self._built.values())
