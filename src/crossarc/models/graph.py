"""The kind "graph": the best of all trees by the scores of arcs and parts, from a linear model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crossarc.models.kinds import Kind, OptionError, TrainOptions, Variants, option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crossarc.learning import Progress
    from crossarc.models.higher_order.model import HigherOrderModel
    from crossarc.models.linear import LinearModel
    from crossarc.treebank import Sentence

__all__ = ["KIND", "GraphOptions"]

# A default that depends on the order: filled in when the options are made.
_BY_ORDER: Any = None
_DEFAULTS = {
    1: {"learner": "loglinear", "rate": 0.1},
    2: {"learner": "maxmargin", "rate": 0.01},
}

# How long training takes, in trainings of first order.
_COSTS = {1: 1.0, 2: 6.0, 3: 15.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions(TrainOptions):
    """How to train a linear model of arcs; see `TrainOptions` for the others.

    Attributes:
        order: 1 scores arcs, 2 also siblings and grandchildren, 3 also grand-siblings and
            tri-siblings.
        learner: what arcs and parts are trained by; labels are log-linear always. By default
            "loglinear" for arcs, "maxmargin" for parts.
        batch, patience: as in `run_passes`.
        rate, inertia, l1, l2: as in `AdaGrad`; the rate is by default 0.1 for arcs, 0.01 for parts.
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
    batch: int = 8
    patience: int = 2
    rate: float = _BY_ORDER
    inertia: float = 1.0
    l1: float = 0.3
    l2: float = 0.0
    max_weights: int = 1_000_000

    def __post_init__(self) -> None:
        # Slots make a new class, so that super() without arguments would not find its own.
        TrainOptions.__post_init__(self)
        for name, default in _DEFAULTS[min(self.order, 2)].items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        if self.order == 1 and self.learner in ("mira", "maxmargin"):
            raise OptionError(f"{self.learner!r} is for order 2 and 3 only", "learner")


def _train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: GraphOptions,
    progress: Callable[[Progress], None] | None,
) -> LinearModel | HigherOrderModel:
    if options.order > 1:
        from crossarc.models.higher_order.training import train_higher_order

        return train_higher_order(sentences, dev, options=options, progress=progress)
    from crossarc.models.training import train_linear

    return train_linear(sentences, dev, options=options, progress=progress)


def _restore(
    tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]
) -> LinearModel | HigherOrderModel:
    if "order" in metadata:
        from crossarc.models.higher_order.model import HigherOrderModel

        return HigherOrderModel.restore(tensors, metadata)
    from crossarc.models.linear import LinearModel

    return LinearModel.restore(tensors, metadata)


def _variants(options: GraphOptions, fixed: frozenset[str]) -> Variants:
    """First order with projective and with all trees; with the better of them the higher orders."""
    projective = bool(options.projective)
    families = [projective] if "projective" in fixed else [projective, not projective]
    orders = [options.order] if "order" in fixed else list(_COSTS)
    scores = {}
    for family in families:
        scores[family] = yield {"order": orders[0], "projective": family}, _COSTS[orders[0]]
    better = max(families, key=lambda family: scores[family])
    for order in orders[1:]:
        yield {"order": order, "projective": better}, _COSTS[order]


KIND = Kind(
    "graph",
    "the best of all trees by the scores of arcs, with probabilities",
    GraphOptions,
    _train,
    _restore,
    _variants,
)
