"""Measures the quantities of the paper's analysis on one problem and draws docs/theory.png.

python docs/theory.py [--iterations 20000]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from orthoprox import Iterations, Recorder, named, solve
from orthoprox.cli.demo import BETA0, WEIGHT, digits
from orthoprox.models import sparse_pca
from orthoprox.plotting._canvas import figure
from orthoprox.plotting._style import style
from orthoprox.theory import Constants, Lyapunov

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=20_000)
    iterations = parser.parse_args().iterations
    D, _ = digits()
    problem = sparse_pca(D, n_components=12, weight=WEIGHT, k=146)
    histories, columns = {}, {}
    for name in ("oadmm-ep", "oadmm-rr"):
        solver, watch = named(name, beta0=BETA0), Lyapunov()
        solve(problem, solver, stop=Iterations(iterations), record=Recorder(every=iterations), observers=[watch])
        histories[name] = watch.history
        report(name, watch.history, Constants.of(solver, problem))
        columns[name.upper()] = column(watch.history)
    print("\n" + table(columns))
    draw(HERE / "theory.png", histories)
    for sigma in (1.0, 1.1, 1.3, 1.5, 1.7, 1.9):
        print(f"sigma = {sigma}: " + "; ".join(held(problem, name, sigma, iterations // 10) for name in histories))


def held(problem, name: str, sigma: float, iterations: int) -> str:
    """At how many steps of a run theta fell by what the lemmas require."""
    watch = Lyapunov()
    solver = named(name, beta0=BETA0, sigma=sigma)
    solve(problem, solver, stop=Iterations(iterations), record=Recorder(every=iterations), observers=[watch])
    decrease, required = watch.history.decrease[1:], watch.history.required[1:]
    enough = int(np.sum(decrease >= required))
    return f"{name} {enough} of {len(decrease)}, least ratio {np.min(decrease / required):.3g}"


def numbers(h) -> tuple[list[int], np.ndarray, float]:
    """Where the mean of Crit is read, theta without c/beta, and the slope of log(mean Crit) over the last decade."""
    T = h.iteration
    marks = [t for t in (100, 1000, 10_000, len(T)) if t <= len(T)]
    slope = np.polyfit(np.log(T[len(T) // 10 :]), np.log(h.mean_criticality[len(T) // 10 :]), 1)[0]
    return marks, h.lagrangian + h.momentum + h.relaxation, float(slope)


def column(h) -> dict[str, str]:
    """A method's column of the table in theory.md."""
    marks, bare, slope = numbers(h)
    falls, trials = h.decrease[1:] > 0, h.trials.max()
    return {
        "Theta decreases": "at every step" if np.all(falls) else f"at {np.mean(falls):.2%} of steps",
        "smallest decrease, over what the lemma requires": f"{np.min(h.decrease[1:] / h.required[1:]):.0f}",
        "Theta at the first and the last iteration": f"{h.theta[0]:.2f}, {h.theta[-1]:.3f}",
        "c/beta at the first and the last iteration": f"{h.c_over_beta[0]:.1f}, {h.c_over_beta[-1]:.1f}",
        "steps at which Theta - c/beta decreases": f"{100 * np.mean(np.diff(bare) < 0):.0f} %",
        f"mean of Crit at T = {', '.join(map(str, marks))}": ", ".join(
            f"{h.mean_criticality[t - 1]:.3g}" for t in marks
        ),
        "slope of log(mean Crit) over the last decade (the bound has -1/3)": f"{slope:.2f}",
        "step sizes tried by a line search, at most": f"{trials:.0f}" if trials else "",
    }


def table(columns: dict[str, dict[str, str]]) -> str:
    """The columns side by side, in Markdown."""
    names = list(columns)
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    return "\n".join(lines + [f"| {row} | {' | '.join(columns[n][row] for n in names)} |" for row in columns[names[0]]])


def report(name: str, h, constants: Constants) -> None:
    """The numbers quoted in theory.md."""
    marks, bare, slope = numbers(h)
    print(name)
    print(f"  c = {constants.c:.4g}, c/beta from {h.c_over_beta[0]:.4g} to {h.c_over_beta[-1]:.4g}")
    print(
        f"  theta from {h.theta[0]:.6g} to {h.theta[-1]:.6g}; decreases at {np.mean(h.decrease[1:] > 0):.2%} of steps"
    )
    print(f"  least decrease / required: {np.min(h.decrease[1:] / h.required[1:]):.3g}")
    print(f"  theta - c/beta decreases at {np.mean(np.diff(bare) < 0):.2%} of steps")
    print("  mean Crit at T: " + ", ".join(f"{t}: {h.mean_criticality[t - 1]:.4g}" for t in marks))
    print(f"  slope of log(mean Crit) over the last decade: {slope:.3f} (the theorem's bound has -1/3)")
    print(f"  e^t from {h.e[0]:.3g} to {h.e[-1]:.3g}; trials of the line search at most {h.trials.max():.0f}")


def draw(path: Path, histories: dict) -> None:
    canvas = figure(figsize=(10, 7.5), layout="constrained")
    (a, b), (c, d) = canvas.subplots(2, 2)
    for i, (name, h) in enumerate(histories.items()):
        colour, dashes, _ = style(i)
        T = h.iteration
        a.loglog(T[1:], h.decrease[1:], dashes, color=colour, lw=1, label=f"{name}: decrease")
        a.loglog(T[1:], h.required[1:], ":", color=colour, lw=1.5, label=f"{name}: required")
        bare = h.lagrangian + h.momentum + h.relaxation
        b.semilogx(T, bare, dashes, color=colour, label=name)
        c.loglog(T, h.criticality, dashes, color=colour, lw=0.6, alpha=0.5)
        c.loglog(T, h.mean_criticality, dashes, color=colour, lw=2, label=f"{name}: mean of Crit")
        d.loglog(T, h.e, dashes, color=colour, label=f"{name}: e")
    h = histories["oadmm-ep"]
    T = h.iteration.astype(float)
    c.loglog(T, h.mean_criticality[-1] * (T / T[-1]) ** (-1 / 3), color="grey", lw=1, label="slope -1/3")
    for name, colour in (("B", "#7f8c8d"), ("X", "#27ae60"), ("Y", "#8e44ad"), ("Z", "#d68910")):
        d.loglog(T, h[name], color=colour, lw=0.7, label=f"oadmm-ep: {name}")
    a.set_title("decrease of theta, and what Lemmas 4.7 and 4.12 require")
    b.set_title("theta without its dominant part c/beta")
    c.set_title("Crit (thin) and its ergodic mean")
    d.set_title("the sequence e and its parts")
    for panel in (a, b, c, d):
        panel.set_xlabel("iteration")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    canvas.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
