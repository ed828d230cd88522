"""A process that reads files: one JSON line in, one out. A file that crashes it is found, and the next one is read."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

MEMORY = 8 * 2**30
PATIENCE = 120
"""Seconds after which a file has no answer."""


class Reader:
    """Asks a process of its own to read a file."""

    def __init__(self):
        self.process = None

    def read(self, path, *, kind):
        """What became of a file: ``loaded`` (its rows), ``refused`` (a sentence), or ``crash`` (a fault of ours)."""
        if self.process is None:
            call = [sys.executable, "-W", "error", __file__]
            self.process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(json.dumps([os.fspath(path), kind]).encode() + b"\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)
        code = self.process.poll() if ready else "none: no answer"
        self.close()
        return {"crash": f"the process ended, code {code}"}

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.process = None


def attempt(path, kind):
    """Read a file as a command does, and multiply with what it holds."""
    import numpy as np

    from orthoprox.datasets import DataUnavailable, read_matrix
    from orthoprox.datasets._formats import idx_images
    from orthoprox.datasets._prepare import prepare_matrix
    from orthoprox.maps import as_map

    try:
        A = idx_images(Path(path)) if kind == "images" else read_matrix(path)[0]
        A = A.astype(np.float64)
        if len(A.shape) == 2 and 0 not in A.shape and max(A.shape) < 10**6:
            D, divisor = prepare_matrix(A, "raw" if kind == "images" else kind)
            product = as_map(D, "D")(np.eye(A.shape[1], 2))
            assert np.isfinite(product).all(), "a product is not finite"
            if kind == "raw":
                return {"loaded": (divisor * as_map(D, "D")(np.eye(A.shape[1], min(A.shape[1], 9)))).tolist()}
        return {"loaded": None}
    except (DataUnavailable, ValueError, TypeError) as error:
        return {"refused": str(error), "by": type(error).__name__}
    except Exception as error:
        return {"crash": repr(error)}


if __name__ == "__main__":
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for order in sys.stdin:
        print(json.dumps(attempt(*json.loads(order))), flush=True)
