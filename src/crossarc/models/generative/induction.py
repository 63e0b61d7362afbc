"""EM from several starts, with checkpoints; what the models of this folder share of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.learning.em import EMProblem, EMState, annealing_exponents, run_em
from crossarc.models.generative.model import GenerativeModel
from crossarc.models.storage import read_model, write_model

__all__ = [
    "STARTS",
    "EMKeywords",
    "HiddenTrees",
    "OnIteration",
    "Start",
    "check_possible",
    "harmonic_scores",
    "run_restarts",
    "split_options",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Start = Literal["uniform", "harmonic", "random"]
#: Called with the number of the restart, from 0, and where it stands.
OnIteration = Callable[[int, EMState], None]

STARTS: tuple[Start, ...] = ("uniform", "harmonic", "random")
DEFAULT_PRIOR = 0.1


class HiddenTrees(EMProblem, Protocol):
    """A problem of EM that knows where to start: expected counts to begin with."""

    words: int

    def uniform_start(self) -> Floats:
        """All trees are alike."""

    def harmonic_start(self) -> Floats:
        """Arcs weigh 1 / distance (Klein & Manning 2004)."""

    def random_start(self, rng: np.random.Generator) -> Floats:
        """Random parameters."""

    def start_from(self, model: Any) -> Floats:
        """The parameters of a model of the same kind, learnt from trees say."""

    def digest(self) -> str:
        """Of the corpus and of what is to be learnt: checkpoints of others are refused."""


class EMKeywords(TypedDict, total=False):
    """The arguments of `fit_em`.

    Attributes:
        start: "uniform", "harmonic" or "random"; or a model, learnt from trees say.
        prior: what is added to each count: the mode under a Dirichlet(1 + prior) prior.
        restarts: random starts, of which the one with the highest objective is kept.
        seed: of random starts.
        iterations, tolerance: as of `crossarc.learning.em.run_em`.
        anneal: the first exponent of the posterior, which then grows by a quarter up to 1.
        threads: `CROSSARC_THREADS`, else all cores; the result does not depend on it.
        checkpoint: a file that is written after each iteration, and gone on from where it exists.
        on_iteration: called after each iteration.
    """

    start: Start | GenerativeModel
    prior: float
    restarts: int
    seed: int
    iterations: int
    tolerance: float
    anneal: float
    threads: int | None
    checkpoint: str | os.PathLike[str] | None
    on_iteration: OnIteration | None


def split_options(options: EMKeywords) -> tuple[float, int | None, dict[str, Any]]:
    """Prior and threads, which a problem needs, and the arguments of `run_restarts`."""
    prior = options.get("prior", DEFAULT_PRIOR)
    if not 0.0 <= prior < np.inf:
        raise ValueError(f"prior must be a number from 0 up: got {prior}")
    others = {name: one for name, one in options.items() if name not in ("prior", "threads")}
    return prior, options.get("threads"), others


def run_restarts(
    problem: HiddenTrees,
    *,
    start: Any = "harmonic",
    restarts: int = 1,
    seed: int = 0,
    iterations: int = 100,
    tolerance: float = 1e-5,
    anneal: float = 1.0,
    checkpoint: str | os.PathLike[str] | None = None,
    on_iteration: OnIteration | None = None,
) -> EMState:
    """EM from one or several starts; the state with the highest objective.

    Args:
        start: as of `EMKeywords`; a model is one that the problem can start from.

    Raises:
        ModelError: a checkpoint of another run, or a sentence of probability 0.
    """
    if restarts < 1 or (restarts > 1 and start != "random"):
        raise ValueError(f"restarts must be 1, or more from random starts: got {restarts}")
    kept = _Checkpoint(checkpoint, _digest(problem, start, restarts, seed, tolerance, anneal))
    best, first, current = kept.read()
    for number in range(first, restarts):

        def note(state: EMState, number: int = number, best: EMState | None = best) -> None:
            kept.write(best, number, state)
            if on_iteration is not None:
                on_iteration(number, state)

        begin = _start(problem, start, np.random.default_rng([seed, number]))
        state = run_em(
            problem,
            begin if current is None else current,
            iterations=iterations,
            tolerance=tolerance,
            exponents=annealing_exponents(anneal),
            on_iteration=note,
        )
        current = None
        if best is None or state.objectives[-1] > best.objectives[-1]:
            best = state
    assert best is not None
    return best


def _start(problem: HiddenTrees, start: Any, rng: np.random.Generator) -> Floats:
    if not isinstance(start, str):
        return problem.start_from(start)
    if start == "uniform":
        return problem.uniform_start()
    if start == "harmonic":
        return problem.harmonic_start()
    if start == "random":
        return problem.random_start(rng)
    raise ValueError(f"start must be one of {', '.join(STARTS)}, or a model: got {start!r}")


def _digest(problem: HiddenTrees, start: Any, *others: object) -> str:
    name = start if isinstance(start, str) else "model"
    return hashlib.sha256(repr((problem.digest(), name, *others)).encode()).hexdigest()


class _Checkpoint:
    """The best state so far, and the state of the restart that is under way, in a file."""

    def __init__(self, path: str | os.PathLike[str] | None, digest: str) -> None:
        self._path, self._digest = path, digest

    def write(self, best: EMState | None, restart: int, current: EMState) -> None:
        if self._path is None:
            return
        states = {"current": current} | ({} if best is None else {"best": best})
        arrays = {}
        about: dict[str, Any] = {"em": self._digest, "restart": restart}
        for name, state in states.items():
            arrays[f"{name}.counts"] = state.counts
            arrays[f"{name}.next_counts"] = state.next_counts
            about[name] = [state.stage, state.objectives, state.stage_start, state.converged]
        write_model(self._path, arrays, about)

    def read(self) -> tuple[EMState | None, int, EMState | None]:
        """The best state, the restart to go on with, and its state."""
        if self._path is None or not Path(self._path).exists():
            return None, 0, None
        arrays, about = read_model(self._path)
        if about.get("em") != self._digest:
            raise ModelError(
                f"{os.fspath(self._path)}: a checkpoint of another run, or none: remove the file, "
                "or name another"
            )

        def state(name: str) -> EMState | None:
            if name not in about:
                return None
            stage, objectives, stage_start, converged = about[name]
            counts = np.array(arrays[f"{name}.counts"]), np.array(arrays[f"{name}.next_counts"])
            return EMState(*counts, stage, tuple(objectives), stage_start, converged)

        return state("best"), about["restart"], state("current")


def harmonic_scores(n: int) -> Floats:
    """-log |h - m|, and -log n from the root."""
    positions = np.arange(n + 1)
    distances = np.maximum(np.abs(positions[:, None] - positions), 1)
    distances[0] = n
    scores: Floats = -np.log(distances)
    return scores


def check_possible(totals: Floats) -> None:
    """Refuse sentences of probability 0.

    Raises:
        ModelError: with the index of the first of them.
    """
    if not np.isfinite(totals).all():
        index = int(np.argmin(np.isfinite(totals)))
        raise ModelError(
            f"sentence {index} has probability 0 under the start of EM: use a prior above 0, or "
            "smooth the model to start from"
        )
