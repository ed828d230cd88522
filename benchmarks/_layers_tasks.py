"""The tasks of benchmarks/layers.py: small networks whose orthonormal matrices lie in stacks, and their data.

A stack has shape (b, p, n) with p <= n and orthonormal rows, the one layout that every method can take.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F


class Stacked(nn.Module):
    """Holds b matrices of p orthonormal rows; ``matrices()`` gives them, however a method stores them."""

    def __init__(self, b: int, p: int, n: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(b, n, p))[0].mT.contiguous())
        self.tall = False

    def matrices(self) -> torch.Tensor:
        return self.weight.mT if self.tall else self.weight


class Recurrent(nn.Module):
    """Reads a picture some pixels at a time; the recurrent matrix is orthogonal."""

    def __init__(self, width: int = 64, pixels: int = 8) -> None:
        super().__init__()
        self.read, self.out = nn.Linear(pixels, width), nn.Linear(width, 10)
        self.recur = Stacked(1, width, width)
        self.gain = nn.Parameter(torch.ones(()))  # tanh shrinks what an orthogonal matrix keeps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        W, h = self.recur.matrices()[0], x.new_zeros(len(x), self.out.in_features)
        for row in self.read(x.unflatten(1, (-1, self.read.in_features))).unbind(1):
            h = torch.tanh(row + self.gain * (h @ W.T))
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


Samples = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Task:
    """A network, its batches and its test."""

    title: str
    model: Callable[[], nn.Module]
    data: Callable[[int], tuple[Samples, Samples]]
    epochs: int
    sparse: tuple[str, ...]
    """The stacks that are made sparse."""
    square: bool = False
    batch: int = 50
    tune: int = 2
    """Epochs on the support once the zeros are exact."""
    needs: str | None = None
    """A file in the folder ORTHOPROX_DATA."""
    tuning: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    """Seeds of the runs that choose lr and weights; data are drawn or split anew for each seed."""
    reported: tuple[int, ...] = tuple(range(10, 18))
    """Seeds of the runs in the tables; more where methods are closer than chance lets eight tell."""


def digits(seed: int) -> tuple[Samples, Samples]:
    X, t = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    data, labels = torch.tensor(X[order] / 16 - 0.3, dtype=torch.float32), torch.tensor(t[order])
    return (data[:1400], labels[:1400]), (data[1400:], labels[1400:])


def permuted(seed: int) -> tuple[Samples, Samples]:
    """MNIST with its pixels in one random order, some of the training images, and all test images."""
    order, parts = np.random.default_rng(99).permutation(784), []
    for file, count in ((TRAIN, 6000), (TEST, None)):
        with np.load(Path(os.environ["ORTHOPROX_DATA"]) / file) as stored:
            images, labels = stored["images"].reshape(-1, 784), stored["labels"]
        some = np.random.default_rng(seed).permutation(len(images))[:count]
        data = torch.tensor(images[some][:, order] / 255.0 - 0.13, dtype=torch.float32)
        parts.append((data, torch.tensor(labels[some].astype(np.int64))))
    return parts[0], parts[1]


def sequences(seed: int) -> tuple[Samples, Samples]:
    """Random symbols, a mark, and all but the last of the symbols again; what is asked for is the second half."""
    draw = torch.Generator().manual_seed(seed)
    first = torch.randint(16, (1250, 8), generator=draw)
    whole = torch.cat([first, torch.full((1250, 1), 16), first[:, :-1]], dim=1)
    return (whole[:1000], first[:1000]), (whole[1000:], first[1000:])


TRAIN, TEST = "mnist_train_60k.npz", "mnist_test_10k.npz"
MORE = tuple(range(500, 600))
"""Seeds of tables in which methods are a tenth of a point apart: a run is off by six times as much."""
CHOICE = (*range(6), *range(34, 76))
"""Seeds that choose lr there: with six or with 24 the choice itself was chance."""
TASKS = {
    "rnn": Task("RNN, digits row by row", Recurrent, digits, 16, ("recur",), square=True, tuning=CHOICE, reported=MORE),
    "cnn": Task("CNN, digits", Convolutional, digits, 10, ("second", "third"), tuning=CHOICE, reported=MORE),
    "copy": Task(
        "transformer, copy task", Copying, sequences, 12, ("query", "key", "value", "back"), tuning=(0, 1),
    ),
    "pmnist": Task(
        "RNN, permuted MNIST", lambda: Recurrent(96, 16), permuted, 4, ("recur",), square=True, batch=100, tune=1,
        needs=TRAIN,
    ),
}  # fmt: skip


def present() -> list[str]:
    """The tasks whose data are at hand."""
    folder = Path(os.environ.get("ORTHOPROX_DATA", ""))
    return [name for name, task in TASKS.items() if task.needs is None or (folder / task.needs).is_file()]


def stacks(model: nn.Module) -> dict[str, Stacked]:
    return {name: inner for name, inner in model.named_modules() if isinstance(inner, Stacked)}


def accuracy(model: nn.Module, data: Samples) -> float:
    with torch.no_grad():
        return float((model(data[0]).argmax(1) == data[1]).float().mean())


def train(
    model: nn.Module, optimisers: list[Any], data: Samples, epochs: int, test: Samples, batch: int, first: float = 1.0
) -> list[float]:
    """The accuracy on held-out data after each epoch, while every lr falls to zero in a straight line.

    The lr of the first optimiser starts at a share of what it is.
    """
    curve, steps, t = [], epochs * -(-len(data[0]) // batch), 0
    shares = (first, *(1.0 for _ in optimisers[1:]))
    both = [(g, one * g["lr"]) for k, one in zip(optimisers, shares, strict=True) for g in k.param_groups]
    for _ in range(epochs):
        for i in torch.randperm(len(data[0])).split(batch):
            for group, lr in both:
                group["lr"] = lr * (1 - t / steps)
            for optimiser in optimisers:
                optimiser.zero_grad()
            F.cross_entropy(model(data[0][i]), data[1][i]).backward()
            for optimiser in optimisers:
                optimiser.step()
            t += 1
        curve.append(accuracy(model, test))
    for group, lr in both:
        group["lr"] = lr
    return curve
