"""Three signals were recorded mixed up by three sensors: what were they?
======================================================================

Nobody knows how they were mixed, only that the signals are independent and bounded, as most that come out of a device.
Mixing widens ranges, so the directions in which the records have the smallest ranges are the signals. FastICA, beside
it, looks for directions that are far from normal.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.decomposition import FastICA

from orthoprox import RangeICA
from orthoprox.models import amari_index

NAMES = ("tone", "ramp", "switch")
COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by every kind of eye
MIXING = np.array([[1.0, 0.8, 0.4], [0.5, 1.0, -0.7], [0.9, -0.4, 1.0]])


def signals(m: int) -> np.ndarray:
    """A tone that wavers, a ramp, and a switch with some jitter."""
    t, rng = np.linspace(0, 8, m), np.random.default_rng(4)
    tone = np.sin(2 * np.pi * t + np.sin(1.3 * t))
    ramp = 2 * (0.73 * t % 1) - 1
    switch = np.sign(np.sin(3.7 * t + 1)) + rng.uniform(-0.15, 0.15, m)
    return np.stack([tone, ramp, switch], axis=1)


def in_order(found: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The found signals in the order, with the sign and in the units of the true ones."""
    S = (S - S.mean(axis=0)) / S.std(axis=0)
    C = S.T @ found / len(S)
    place = np.argmax(np.abs(C), axis=1)
    return found[:, place] * np.sign(C[range(len(place)), place])


def main(folder: Path) -> Path:
    S = signals(2000)
    X = S @ MIXING.T
    ica = RangeICA(random_state=0).fit(X)
    plain = FastICA(3, whiten="unit-variance", random_state=0).fit(X)
    ours, theirs = (amari_index(model.components_ @ MIXING) for model in (ica, plain))
    print(f"What is left of the mixing (Amari index): {ours:.4f} by ranges, {theirs:.4f} by FastICA.")

    columns = (
        ("as recorded", X),
        ("the signals", S),
        (f"found by RangeICA, index {ours:.3f}", in_order(ica.transform(X), S)),
        (f"found by FastICA, index {theirs:.3f}", in_order(plain.transform(X), S)),
    )
    canvas = Figure(figsize=(10, 3.6), layout="constrained")
    axes = canvas.subplots(3, 4, sharex=True)
    for j, (title, values) in enumerate(columns):
        axes[0, j].set_title(title, fontsize=9)
        for i, ax in enumerate(axes[:, j]):
            ax.plot(values[::4, i], color="0.4" if j == 0 else COLOURS[i], linewidth=0.8)
            ax.set_xticks([])
            ax.set_yticks([])
            if j == 1:
                ax.set_ylabel(NAMES[i], fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "blind_sources.png"
    canvas.savefig(path, dpi=72)
    return path


if __name__ == "__main__":
    main(Path("out"))
