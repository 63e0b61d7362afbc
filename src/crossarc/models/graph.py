"""The kind "graph": the best of all trees by the scores of arcs and parts, from a linear model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossarc.models.kinds import Kind, OptionError, TrainOptions, Variants, option, quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crossarc.learning import Progress
    from crossarc.models.first_order.model import LinearModel
    from crossarc.models.higher_order.model import HigherOrderModel
    from crossarc.treebank import Sentence

__all__ = ["KIND", "GraphOptions"]

# A default that depends on the order: filled in when the options are made.
_BY_ORDER: Any = None
# One that depends on the optimizer.
_BY_OPTIMIZER: Any = None
_DEFAULTS = {
    1: {"learner": "loglinear", "rate": 0.1},
    2: {"learner": "maxmargin", "rate": 0.01},
}

_MARGIN_RATE = 0.03

# Of first order: what each learner can be solved by, the first by default; and how many passes
# are made, at most, where none are given.
_OPTIMIZERS = {
    "loglinear": ("stochastic", "cg", "lbfgs", "eg"),
    "maxmargin": ("stochastic", "eg"),
    "perceptron": ("stochastic",),
    "mira": ("stochastic",),
}
_PASSES = {"stochastic": 6, "cg": 50, "lbfgs": 50, "eg": 30}
_PATIENCE = {"stochastic": 2, "cg": 10, "lbfgs": 10, "eg": 10}

# How long training takes, in trainings of first order; and the learner that is worth a trial beside
# the default of an order, with what it takes beside that.
_COSTS = {1: 1.0, 2: 6.0, 3: 15.0}
_RIVALS = {1: ("mira", 1.0), 2: ("loglinear", 1.5), 3: ("loglinear", 1.5)}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions(TrainOptions):
    """How to train a linear model of arcs; see `TrainOptions` for the others.

    Attributes:
        order: 1 scores arcs, 2 also siblings and grandchildren, 3 also grand-siblings and
            tri-siblings.
        learner: what arcs and parts are trained by; labels are log-linear always. By default
            "loglinear" for arcs, "maxmargin" for parts.
        optimizer: how the learner's objective is solved, first order only: "stochastic" in steps;
            "cg" (conjugate gradient), "lbfgs" and "eg" (exponentiated gradient) to the optimum of
            C times the sum of losses plus |w|^2 / 2 (Koo et al. 2007), C being `c`.
        c: of the objective; for MIRA the most that a sentence may change the weights by. By default
            AdaGrad has its own penalties; of MIRA 0.1, max-margin 0.03, log-linear models 0.5, by
            exponentiated gradient 0.05.
        passes: by default 6, 50 of "cg" and "lbfgs", 30 of "eg".
        kbest, cost_augmented: for MIRA of first order, how many trees must be beaten, and whether
            they are the best by score and errors or by score alone.
        averaged: in steps, whether the mean of the weights is kept or the last ones.
        least_derivative: in steps, derivatives up to this in the score of an arc are left out.
        checkpoint: a file to write the state of training to after each pass. Training resumes from
            it where it exists, and removes it at the end. First order only.
        batch, patience: as in `run_passes`.
        rate, inertia, l1, l2: as in `AdaGrad`; the rate is that of arcs and parts, by default 0.1
            in first order, 0.03 with "maxmargin" there, and 0.01 in higher order.
        max_weights: the weights of largest magnitude are kept, at most so many a table.
    """

    order: int = option(
        1, "Arcs in a part that is scored, at most.", type=int, choices=(1, 2, 3), metavar="1|2|3"
    )
    learner: str = option(
        _BY_ORDER,
        "How the scores are learnt.",
        choices=("loglinear", "perceptron", "mira", "maxmargin"),
    )
    optimizer: str = option(
        "stochastic", "How they are optimised.", choices=("stochastic", "cg", "lbfgs", "eg")
    )
    c: float | None = option(
        None, "Weight of the losses against |w|^2 / 2.", type=float, metavar="C"
    )
    kbest: int = option(
        1, "With mira: trees that must be beaten.", type=int, minimum=1, metavar="K"
    )
    cost_augmented: bool = True
    averaged: bool = True
    least_derivative: float = 1e-4
    checkpoint: str | None = option(
        None, "State of training, written after each pass; resumes from it.", metavar="FILE"
    )
    passes: int = field(default=_BY_OPTIMIZER, metadata={"minimum": 1})
    batch: int = 8
    patience: int = _BY_OPTIMIZER
    rate: float = _BY_ORDER
    inertia: float = 1.0
    l1: float = 0.3
    l2: float = 0.0
    max_weights: int = 1_000_000

    def __post_init__(self) -> None:
        # Slots make a new class, so that super() without arguments would not find its own.
        TrainOptions.__post_init__(self)
        if self.rate is None and self.order == 1 and self.learner == "maxmargin":
            object.__setattr__(self, "rate", _MARGIN_RATE)
        for name, default in _DEFAULTS[min(self.order, 2)].items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        for name, by_optimizer in (("passes", _PASSES), ("patience", _PATIENCE)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, by_optimizer[self.optimizer])
        self._check_optimizer()

    def _check_optimizer(self) -> None:
        """Refuse combinations that make no sense."""
        if self.order > 1:
            first_only = {"optimizer": "stochastic", "c": None, "kbest": 1, "checkpoint": None}
            for name, default in first_only.items():
                if getattr(self, name) != default:
                    raise OptionError("is for order 1 only", name)
        elif self.optimizer not in _OPTIMIZERS[self.learner]:
            fitting = quoted(_OPTIMIZERS[self.learner])
            raise OptionError(
                f"{self.learner!r} is optimised by {fitting}, not {self.optimizer!r}",
                "learner",
                "optimizer",
            )
        if self.c is not None and not 0.0 < self.c < math.inf:
            raise OptionError(f"must be a number above 0: got {self.c}", "c")
        if self.c is not None and self.learner == "perceptron":
            raise OptionError("the perceptron has none: leave it out", "c")
        if self.kbest > 1 and self.learner != "mira":
            raise OptionError('is for the learner "mira" only', "kbest")


def _train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: GraphOptions,
    progress: Callable[[Progress], None] | None,
) -> LinearModel | HigherOrderModel:
    if options.order > 1:
        from crossarc.models.higher_order.training import train_higher_order

        return train_higher_order(sentences, dev, options=options, progress=progress)
    from crossarc.models.first_order.training import train_linear

    return train_linear(sentences, dev, options=options, progress=progress)


def _restore(
    tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]
) -> LinearModel | HigherOrderModel:
    if "order" in metadata:
        from crossarc.models.higher_order.model import HigherOrderModel

        return HigherOrderModel.restore(tensors, metadata)
    from crossarc.models.first_order.model import LinearModel

    return LinearModel.restore(tensors, metadata)


def _variants(options: GraphOptions, fixed: frozenset[str]) -> Variants:
    """First order with projective and with all trees; with the better of them the higher orders.

    With the best of all these, another learner, unless options of learners are given.
    """
    projective = bool(options.projective)
    families = [projective] if "projective" in fixed else [projective, not projective]
    orders = [options.order] if "order" in fixed else list(_COSTS)
    scores = {}
    for family in families:
        scores[family] = yield {"order": orders[0], "projective": family}, _COSTS[orders[0]]
    better = max(families, key=lambda family: scores[family])
    by_order = {orders[0]: scores[better]}
    for order in orders[1:]:
        by_order[order] = yield {"order": order, "projective": better}, _COSTS[order]
    best = max(orders, key=lambda order: by_order[order])
    if fixed.isdisjoint({"learner", "optimizer", "c", "kbest"}):
        learner, factor = _RIVALS[best]
        yield {"order": best, "projective": better, "learner": learner}, factor * _COSTS[best]


KIND = Kind(
    "graph",
    "the best of all trees by the scores of arcs, with probabilities",
    GraphOptions,
    _train,
    _restore,
    _variants,
)
