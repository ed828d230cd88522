"""Can the filters of a layer be orthogonal and look at few pixels each?
=====================================================================

A network reads digits through 16 filters. `OrthoProx` keeps them orthonormal while it trains, and a penalty leaves them
a share of the pixels. `finish_` makes the zeros exact; the filters stay orthonormal.
"""

from __future__ import annotations

from pathlib import Path

import torch
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from orthoprox.nn import OrthoProx, finish_, orthogonal_
from orthoprox.plotting import loadings_images
from orthoprox.terms import L1, LargestK

FILTERS, SHARE = 16, 0.15


def train(penalty: object) -> tuple[torch.Tensor, str]:
    torch.manual_seed(0)
    X, Y, t, u = (torch.tensor(part) for part in train_test_split(*load_digits(return_X_y=True), random_state=0))
    first = orthogonal_(torch.nn.Linear(64, FILTERS), penalty=penalty)
    net = torch.nn.Sequential(first, torch.nn.ReLU(), torch.nn.Linear(FILTERS, 10))
    optimizer = OrthoProx(net.parameters(), lr=0.05, weight_schedule=lambda step: min(1.0, step / 500))
    for _ in range(1500):
        batch = torch.randint(len(X), (64,))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(X[batch].float() / 16), t[batch]).backward()
        optimizer.step()
    row = finish_(net).rows[0]
    right = (net(Y.float() / 16).argmax(1) == u).float().mean()
    return first.weight.detach(), f"{row.zeros:.0%} zeros, {right:.1%} right, |WW' - I| at most {row.infeasibility:.0e}"


def main(folder: Path) -> Path:
    dense, about = train(None)
    sparse, about_sparse = train(0.02 * (L1() - LargestK(int(SHARE * 64 * FILTERS))))
    print(f"orthonormal: {about}; orthonormal and sparse: {about_sparse}")

    canvas = Figure(figsize=(9, 5.4), layout="constrained")
    above, below = canvas.subfigures(2, 1)
    above.suptitle(f"orthonormal filters: {about}", fontsize=10)
    below.suptitle(f"with l1 minus largest-k: {about_sparse}", fontsize=10)
    for part, W in ((above, dense), (below, sparse)):
        loadings_images(W.numpy(), (8, 8), titles=[""] * FILTERS, columns=8, figure=part)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "orthogonal_layers.png"
    canvas.savefig(path, dpi=80)
    return path


if __name__ == "__main__":
    main(Path("out"))

# sphinx_gallery_thumbnail_path = 'gallery/orthogonal_layers.png'

# %%
# The site does not run this script, which needs PyTorch. Its picture:
#
# .. image:: /gallery/orthogonal_layers.png
#    :alt: Filters of a layer: orthonormal ones above, orthonormal and sparse ones below
