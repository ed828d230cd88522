"""Steps, solves and batches on a GPU, against the products they cannot avoid and against the CPU.

    python benchmarks/gpu.py [steps] [solve] [starts] [batch] [wall] [suite] [--share 1/3] [--methods a,b] [--out FILE]

Times on the device are medians between device events, in double precision. The floor of a step is its product with the
data. Compiling is not counted, and is printed apart. Needs PyTorch with CUDA; JAX is measured too where it sees the
device.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox import SOLVERS, Critical, Iterations, Problem, Recorder, Stiefel, named, solve, solve_many
from orthoprox.backends import backend_of
from orthoprox.models import sparse_pca
from orthoprox.solvers import NewtonBlocks
from orthoprox.terms import L1, ExplainedVariance, Quadratic

SIZES = ((500, 1500, 20), (20_000, 60_000, 100), (50_000, 8000, 200))
"""n, m, r of steps."""
STEPS = 64
DEVICE = "cuda"


def torch_arrays() -> tuple[Any, Callable[..., Any]]:
    import torch

    def normal(m: int, n: int, seed: int = 0) -> Any:
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        return torch.randn(m, n, dtype=torch.float64, device=DEVICE, generator=generator)

    return torch, normal


def on_device(call: Callable[[], Any], repeats: int = 5) -> float:
    """Milliseconds of a call between two events of the device: the median."""
    import torch

    if DEVICE == "cpu":
        return on_clock(call, lambda _: None, repeats)
    call()
    times = []
    for _ in range(repeats):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        call()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last))
    return statistics.median(times)


def on_clock(call: Callable[[], Any], wait: Callable[[Any], Any], repeats: int = 5) -> float:
    """The same by the clock of the host."""
    wait(call())
    times = []
    for _ in range(repeats):
        since = time.perf_counter()
        wait(call())
        times.append(1e3 * (time.perf_counter() - since))
    return statistics.median(times)


def step_problem(B: Any) -> tuple[Problem, Callable[[Any], Any]]:
    """Sparse PCA of the paper's kind, with B'B where that is smaller, and its product."""
    m, n = B.shape
    if n * n <= m * n:
        H = B.T @ B
        return Problem.of(Quadratic(H, -1.0) + 0.1 * L1(), over=Stiefel(n, 1)), lambda X: H @ X
    return Problem.of(ExplainedVariance(B) + 0.1 * L1(), over=Stiefel(n, 1)), lambda X: B.T @ (B @ X)


def time_torch(backend: Any, problem: Problem, solver: Any, state: Any, product: Any) -> tuple[float, float]:
    """Milliseconds of a product and of a step."""
    X = state.now.X
    floor = on_device(lambda: [product(X) for _ in range(STEPS)])
    return floor / STEPS, on_device(lambda: backend.repeat(solver.step, problem, state, STEPS)) / STEPS


def time_jax(backend: Any, problem: Problem, solver: Any, state: Any, product: Any) -> tuple[float, float]:
    import jax

    X = state.now.X
    products = jax.jit(lambda X: jax.lax.fori_loop(0, STEPS, lambda _, Y: product(Y), X))
    floor = on_clock(lambda: products(X), jax.block_until_ready)
    step = on_clock(lambda: backend.repeat(solver.step, problem, state, STEPS).now.X, jax.block_until_ready)
    return floor / STEPS, step / STEPS


def measure_steps(kind: str) -> list[dict[str, Any]]:
    rows = []
    for n, m, r in SIZES:
        if kind == "torch":
            _, normal = torch_arrays()
            B = normal(m, n) / m**0.5
        else:
            import jax

            B = jax.random.normal(jax.random.key(0), (m, n), dtype=float) / m**0.5
        single, product = step_problem(B)
        del B
        problem = Problem(M=Stiefel(n, r), f=single.f, h=single.h)
        solver = named("oadmm-ep").for_problem(problem)
        state = solver.init(problem, problem.M.random(0, like=problem.like))
        backend = backend_of(problem.like)
        for _ in range(4):
            state = backend.repeat(solver.step, problem, state, 40)  # warm, and compiled
        floor, step = (time_torch if kind == "torch" else time_jax)(backend, problem, solver, state, product)
        rows.append(
            {"library": kind, "n": n, "m": m, "r": r, "floor_ms": floor, "step_ms": step, "ratio": step / floor}
        )
        print(rows[-1], flush=True)
        del problem, solver, state, single, product
    return rows


def measure_wall(kind: str) -> dict[str, Any]:
    """Wall time of a run with the default recorder, as a multiple of the time in the method."""
    _, normal = torch_arrays()
    B = normal(1500, 500).cpu().numpy()
    if kind == "torch":
        import torch

        B = torch.as_tensor(B, device=DEVICE)
    elif kind == "jax":
        import jax

        B = jax.numpy.asarray(B)
    problem = sparse_pca(B, n_components=20, weight=0.05)
    runs = []
    for count in (2000, 8000):
        since = time.perf_counter()
        result = solve(problem, "oadmm-ep", stop=Iterations(count))
        wall = time.perf_counter() - since - result.compile_seconds
        runs.append({"iterations": count, "method_s": result.seconds, "wall_s": wall, "ratio": wall / result.seconds})
        runs[-1]["compile_s"] = result.compile_seconds
    print(kind, runs, flush=True)
    return {"library": kind, "runs": runs}


def factors(m: int, n: int, r: int, share: float, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Sparse factors and noise, standardised."""
    loadings = rng.standard_normal((r, n)) * (rng.random((r, n)) < share)
    D = rng.standard_normal((m, r)) @ loadings + rng.standard_normal((m, n))
    D -= D.mean(axis=0)
    D /= D.std(axis=0)
    return D


def measure_solve(size: tuple[int, int, int]) -> dict[str, Any]:
    """The default solver to Crit 1e-6, relative to the leading eigenvalues, here and on the CPU."""
    import torch

    n, m, r = size
    D = factors(m, n, r, 0.05, np.random.default_rng(3))
    row: dict[str, Any] = {"n": n, "m": m, "r": r}
    for name, data in (("gpu", torch.as_tensor(D, device=DEVICE)), ("cpu", D)):
        problem = sparse_pca(data, n_components=r, weight=1.0)
        rule = Iterations(600 if name == "gpu" else row["steps"]) | Critical(1e-6)
        since = time.perf_counter()
        result = solve(problem, stop=rule)
        row |= {
            f"{name}_s": time.perf_counter() - since,
            f"{name}_crit": result.criticality,
            f"{name}_F": result.objective,
        }
        row |= {f"{name}_method_s": result.seconds, f"{name}_compile_s": result.compile_seconds}
        row.setdefault("steps", result.iterations)
        print(row, flush=True)
    row["times_faster"] = row["cpu_method_s"] / row["gpu_method_s"]
    return row


def measure_starts() -> dict[str, Any]:
    """64 starts at once against one."""
    _, normal = torch_arrays()
    problem = sparse_pca(normal(1500, 500), n_components=20, weight=0.05)
    rule, times = Iterations(1000), {}
    for count in (1, 64):
        for _ in range(2):  # the second one finds its programs compiled, as far as they can be
            since = time.perf_counter()
            results = solve_many(problem, "oadmm-ep", seeds=range(count), stop=rule, record=Recorder(every=100))
            times[count] = time.perf_counter() - since - results[0].compile_seconds
    row = {"one_s": times[1], "sixty_four_s": times[64], "ratio": times[64] / times[1]}
    print(row, flush=True)
    return row


def measure_batch(count: int, alone: int) -> dict[str, Any]:
    """Many small sparse PCAs to Crit 1e-6 at once, and how many the CPU does in that time; the second batch is warm."""
    rule, method, row = Iterations(40) | Critical(1e-6), NewtonBlocks(), {"count": count}
    for name, seed in (("first", 1), ("second", 0)):
        rng = np.random.default_rng(seed)
        tables = [factors(100, 50, 5, 0.2, rng) for _ in range(count)]
        since = time.perf_counter()
        problems = [sparse_pca(D, n_components=5, weight=0.2) for D in tables]
        building = time.perf_counter() - since
        since = time.perf_counter()
        results = solve_many(problems, method, stop=rule, device=DEVICE, record=Recorder(every=1))
        wall = time.perf_counter() - since
        row[name] = {
            "building_s": building,
            "wall_s": wall,
            "compile_s": results[0].compile_seconds,
            "converged": sum(result.converged for result in results),
            "steps": float(np.mean([result.iterations for result in results])),
            "most_of_99_percent": float(np.quantile([result.iterations for result in results], 0.99)),
            "zeros": float(np.mean([np.mean(result.y == 0) for result in results])),
            "F": float(np.mean([result.objective for result in results])),
        }
        print(row, flush=True)
    since = time.perf_counter()
    ones = [solve(problem, method, stop=rule) for problem in problems[:alone]]
    row["cpu_each_s"] = (time.perf_counter() - since) / alone
    row["apart"] = max(float(np.max(np.abs(a.X - b.X))) for a, b in zip(ones, results, strict=False))
    print(row, flush=True)
    return row


def suite(libraries: list[str], share: str, methods: list[str]) -> list[str]:
    """Methods on all kinds of problems: the same answers as NumPy's.

    A share such as 1/3 takes every third problem from the first one on.
    """
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from backends.problems import PROBLEMS

    def there(kind: str) -> Callable[[Any], Any]:
        if kind == "torch":
            import torch

            return lambda a: torch.as_tensor(np.asarray(a), device=DEVICE)
        if kind == "cupy":
            import cupy

            return lambda a: cupy.asarray(np.asarray(a))
        import jax

        return lambda a: jax.numpy.asarray(np.asarray(a))

    lines = []
    first, step = map(int, share.split("/"))
    for kind in libraries:
        for name, make in list(PROBLEMS.items())[first - 1 :: step]:
            for method in methods:
                since = time.perf_counter()
                try:
                    X0 = make(np.asarray).M.random(3)
                    here = solve(make(np.asarray), method, X0=X0, stop=Iterations(40))
                    other = solve(make(there(kind)), method, X0=there(kind)(X0), stop=Iterations(40))
                    apart = abs(here.objective - other.objective) / max(1.0, abs(here.objective))
                    lines.append(
                        f"{kind:6s} {method:12s} {name:32s} F apart {apart:.1e} {'' if apart < 1e-6 else 'DIFFERS'}"
                    )
                except Exception as error:
                    lines.append(f"{kind:6s} {method:12s} {name:32s} {type(error).__name__}: {str(error)[:60]}")
                lines[-1] += f" {time.perf_counter() - since:.2f} s"
                print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["steps", "wall", "starts", "batch", "solve"])
    parser.add_argument("--out", type=Path, help="a file for all figures")
    parser.add_argument("--libraries", default="torch,jax")
    parser.add_argument("--share", default="1/1", help="of the problems of the suite, as in 1/3")
    parser.add_argument("--methods", default=",".join(SOLVERS), help="of the suite")
    parser.add_argument("--small", action="store_true", help="small sizes on the CPU, to see that it runs")
    asked = parser.parse_args()
    batch, size = (10_000, 20), (20_000, 10_000, 50)
    if asked.small:
        global DEVICE, SIZES
        DEVICE, SIZES, batch, size = "cpu", ((50, 150, 5), (80, 30, 4)), (6, 2), (60, 30, 3)
    libraries = asked.libraries.split(",")
    if "jax" in libraries:
        import jax

        jax.config.update("jax_enable_x64", True)
    found: dict[str, Any] = {}
    for part in asked.parts:
        if part == "steps":
            found[part] = [row for kind in libraries for row in measure_steps(kind)]
        elif part == "wall":
            found[part] = [measure_wall(kind) for kind in (*libraries, "numpy")]
        elif part == "starts":
            found[part] = measure_starts()
        elif part == "batch":
            found[part] = measure_batch(*batch)
        elif part == "solve":
            found[part] = measure_solve(size)
        elif part == "suite":
            found[part] = suite(libraries, asked.share, asked.methods.split(","))
        else:
            parser.error(f"The parts are steps, wall, starts, batch, solve and suite; given {part!r}.")
        if asked.out is not None:
            asked.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
