"""Layers with orthonormal weights that may also be sparse: marks, an optimiser, exact zeros, a report. Needs PyTorch.

>>> import torch
>>> from orthoprox.nn import OrthoProx, orthogonal_
>>> net = torch.nn.Sequential(orthogonal_(torch.nn.Linear(8, 4)), torch.nn.ReLU(), torch.nn.Linear(4, 2))
>>> optimizer = OrthoProx(net.parameters(), lr=0.05)
>>> net(torch.ones(3, 8)).square().sum().backward()
>>> optimizer.step()
>>> W = net[0].weight
>>> bool((W @ W.T - torch.eye(4)).abs().max() < 1e-5)
True
"""

from orthoprox._extras import extra

extra("torch", "torch", "orthoprox.nn")

from orthoprox.nn._marks import orthogonal_  # noqa: E402
from orthoprox.nn.criticality import criticality  # noqa: E402
from orthoprox.nn.finish import finish_, release_, to_sparse  # noqa: E402
from orthoprox.nn.optimizer import OrthoProx  # noqa: E402
from orthoprox.nn.report import Report, report  # noqa: E402

__all__ = [
    "OrthoProx",
    "Report",
    "criticality",
    "finish_",
    "orthogonal_",
    "release_",
    "report",
    "to_sparse",
]
