"""The tasks of benchmarks/layers.py: small networks whose orthonormal matrices lie in stacks, and their data.

A stack has shape (b, p, n) with p <= n and orthonormal rows, the one layout that every method can take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

BATCH = 50


class Stacked(nn.Module):
    """Holds b matrices of p orthonormal rows; ``matrices()`` gives them, however a method stores them."""

    def __init__(self, b: int, p: int, n: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(b, n, p))[0].mT.contiguous())
        self.tall = False

    def matrices(self) -> torch.Tensor:
        return self.weight.mT if self.tall else self.weight


class Recurrent(nn.Module):
    """Reads a digit row by row; the recurrent matrix is orthogonal."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.read, self.out = nn.Linear(8, width), nn.Linear(width, 10)
        self.recur = Stacked(1, width, width)
        self.gain = nn.Parameter(torch.ones(()))  # tanh shrinks what an orthogonal matrix keeps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        W, h = self.recur.matrices()[0], x.new_zeros(len(x), self.out.in_features)
        for row in x.view(-1, 8, 8).unbind(1):
            h = torch.tanh(self.read(row) + self.gain * (h @ W.T))
        return self.out(h)


class Convolutional(nn.Module):
    """Three convolutions with orthonormal kernels, flattened to matrices with a row for each output channel."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = Stacked(1, 9, 16), Stacked(1, 32, 144), Stacked(1, 32, 288)
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(k)) for k in (16, 32, 32)])
        self.gain = nn.Parameter(torch.ones(3))  # an orthonormal kernel cannot scale what it reads
        self.out = nn.Linear(128, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        (a, b, c), (e, f, g) = self.bias, self.gain
        x = F.relu(F.conv2d(x.view(-1, 1, 8, 8), e * self.first.matrices()[0].T.reshape(16, 1, 3, 3), a, padding=1))
        x = F.relu(F.conv2d(x, f * self.second.matrices().reshape(32, 16, 3, 3), b, padding=1))
        x = F.relu(F.conv2d(F.max_pool2d(x, 2), g * self.third.matrices().reshape(32, 32, 3, 3), c, padding=1))
        return self.out(F.max_pool2d(x, 2).flatten(1))


class Block(nn.Module):
    """Attention whose heads have orthonormal projections, and two plain layers after it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        each = width // heads
        self.query, self.key, self.value, self.back = (Stacked(heads, each, width) for _ in range(4))
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.gain = nn.Parameter(torch.ones(()))  # orthonormal queries and keys cannot sharpen attention themselves

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.before(x)[:, None]
        q, k, v = (y @ part.matrices().mT for part in (self.query, self.key, self.value))
        mixed = F.scaled_dot_product_attention(q * self.gain, k, v, is_causal=True)
        x = x + (mixed @ self.back.matrices()).sum(1)
        return x + self.down(F.relu(self.up(self.between(x))))


class Copying(nn.Module):
    """A small transformer that repeats what it has read."""

    def __init__(self, symbols: int = 16, length: int = 8, width: int = 64, heads: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols + 1, width)
        self.place = nn.Parameter(0.3 * torch.randn(2 * length, width))
        self.blocks = nn.ModuleList([Block(width, heads)])
        self.out = nn.Linear(width, symbols)
        self.length = length

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.embed(x) + self.place
        for block in self.blocks:
            h = block(h)
        return self.out(h[:, self.length :]).transpose(1, 2)


@dataclass(frozen=True)
class Task:
    """A network, its batches and its test."""

    title: str
    model: Callable[[], nn.Module]
    data: Callable[[int], tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]]
    epochs: int
    sparse: tuple[str, ...]
    """The stacks that are made sparse."""
    tuning: tuple[int, ...] = (0,)
    """Seeds of the runs that choose lr and weights; data are drawn or split anew for each seed."""
    reported: tuple[int, ...] = (10, 11, 12)
    """Seeds of the runs in the tables."""
    square: bool = False


def digits(seed: int) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    X, t = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    data, labels = torch.tensor(X[order] / 16 - 0.3, dtype=torch.float32), torch.tensor(t[order])
    return (data[:1400], labels[:1400]), (data[1400:], labels[1400:])


def sequences(seed: int) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Random symbols, a mark, and all but the last of the symbols again; what is asked for is the second half."""
    draw = torch.Generator().manual_seed(seed)
    first = torch.randint(16, (1250, 8), generator=draw)
    whole = torch.cat([first, torch.full((1250, 1), 16), first[:, :-1]], dim=1)
    return (whole[:1000], first[:1000]), (whole[1000:], first[1000:])


TASKS = {
    "rnn": Task("RNN, digits row by row", Recurrent, digits, 16, ("recur",), (0, 1), (10, 11, 12, 13, 14), square=True),
    "cnn": Task("CNN, digits", Convolutional, digits, 10, ("second", "third")),
    "copy": Task("transformer, copy task", Copying, sequences, 7, ("query", "key", "value", "back")),
}


def stacks(model: nn.Module) -> dict[str, Stacked]:
    return {name: inner for name, inner in model.named_modules() if isinstance(inner, Stacked)}


def accuracy(model: nn.Module, data: tuple[torch.Tensor, torch.Tensor]) -> float:
    with torch.no_grad():
        return float((model(data[0]).argmax(1) == data[1]).float().mean())


def train(model: nn.Module, optimisers: list, data: tuple, epochs: int, test: tuple) -> list[float]:
    """The accuracy on held-out data after each epoch; not a number where training diverged."""
    curve, n = [], len(data[0])
    for _ in range(epochs):
        for i in torch.randperm(n).split(BATCH):
            for optimiser in optimisers:
                optimiser.zero_grad()
            F.cross_entropy(model(data[0][i]), data[1][i]).backward()
            for optimiser in optimisers:
                optimiser.step()
        curve.append(accuracy(model, test))
    return curve
