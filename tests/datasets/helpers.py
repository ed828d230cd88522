"""Small datasets with files of their own, and a server that behaves or misbehaves."""

import contextlib
import hashlib
import io
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from scipy.io import savemat

from orthoprox.datasets import Dataset
from orthoprox.datasets._formats import matlab, npz_array
from orthoprox.datasets._prepare import scale_then_centre
from orthoprox.datasets._stored import File, FileOrigin


def counts(m=12, n=9, seed=3):
    """Small counts with an empty column (the third)."""
    A = np.random.default_rng(seed).integers(0, 5, (m, n)).astype(float)
    A[:, 2] = 0
    return A


def npz_bytes(A):
    file = io.BytesIO()
    np.savez(file, X=A)
    return file.getvalue()


def mat_bytes(A):
    file = io.BytesIO()
    savemat(file, {"fea": A})
    # the first 116 bytes are words about the file with the time of day: the same words in every process
    return b"MATLAB 5.0 MAT-file".ljust(116) + file.getvalue()[116:]


def sha256(content):
    return hashlib.sha256(content).hexdigest()


PACKED = npz_bytes(counts())
ORIGINAL = mat_bytes(counts())


def tiny(url="http://127.0.0.1:9/tiny.mat", **changes):
    """A dataset of twelve samples, with a packed file and one original."""
    return Dataset(
        **{
            "name": "tiny",
            "summary": "twelve samples",
            "shape": (12, 9),
            "source": "made here",
            "licence": "none",
            "origin": FileOrigin(
                packed=File("tiny.npz", sha256(PACKED)),
                unpack=lambda path: npz_array(path, "X"),
                public=(File("tiny.mat", sha256(ORIGINAL), url),),
                read=lambda paths: matlab(paths[0], "fea"),
            ),
            "recipe": scale_then_centre,
            **changes,
        }
    )


@contextlib.contextmanager
def serving(content, *, missing_bytes=0, status=200):
    """The address of a file on a server of our own; it may promise more than it sends."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content) + missing_bytes))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/tiny.mat", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def closed_port():
    """An address where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}/tiny.mat"
