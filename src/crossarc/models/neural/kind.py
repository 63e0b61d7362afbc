"""The kind "neural": the best of all trees by the scores of arcs and siblings, from a network."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossarc.models.kinds import Kind, OptionError, TrainOptions, option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crossarc.learning import Progress
    from crossarc.models.neural.model import NeuralModel
    from crossarc.treebank import Sentence

__all__ = ["KIND", "LOSSES", "NetworkOptions", "NeuralOptions"]

LOSSES = ("tree", "local", "margin", "risk")
_NEEDS_TORCH = (
    'training a network needs PyTorch: pip install "crossarc[torch]", or a build of your choice'
)

_PROJECTIVE_ONLY = (
    "2 of the kind 'neural' learns projective trees, and arcs may cross here: add --projective "
    "(projective=True), or use order 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions(TrainOptions):
    """Options of kinds that have a neural network; see `TrainOptions` for the others.

    Attributes:
        encoder: a pretrained encoder in the format of Hugging Face, a folder or a name.
        device: "cpu", "cuda", ...; None for a GPU where there is one.
        precision: "bf16" runs the network in mixed precision.
        checkpoint: a file to write the state of training to after each pass. Training resumes from
            it where it exists, and removes it at the end.

    Raises:
        OptionError: PyTorch is not installed.
    """

    passes: int = field(default=60, metadata={"minimum": 1})
    encoder: str | None = option(
        None, "Pretrained encoder in Hugging Face format, a folder or a name.", metavar="PATH"
    )
    device: str | None = option(
        None, "Where to train; by default on a GPU if there is one.", metavar="cpu|cuda"
    )
    precision: str = option("float32", "Of the network.", choices=("float32", "bf16"))
    checkpoint: str | None = option(
        None, "State of training, written after each pass; resumes from it.", metavar="FILE"
    )

    def __post_init__(self) -> None:
        # Slots make a new class, so that super() without arguments would not find its own.
        TrainOptions.__post_init__(self)
        if not _has_torch():
            raise OptionError(_NEEDS_TORCH, "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuralOptions(NetworkOptions):
    """How to train a neural model; see `NetworkOptions` for the others.

    Attributes:
        order: 1 scores arcs, 2 also siblings: the modifiers of a head that follow each other on one
            side. Order 2 learns projective trees, by a loss of trees.
        loss: "tree" is minus the log-probability of the gold tree, "local" that of each head by
            itself, "margin" the structured hinge loss, "risk" the expected number of wrong heads
            (after half of the passes with "tree").
        batch_words: words in a step; None for a fortieth of the treebank, 400 to 2,000.
        layers, hidden: of the BiLSTM; `layers` None for 2, or 1 on an encoder.
        arc_size, label_size: of the vectors that biaffine scores compare.
        sibling_size: of those of siblings, in second order.
        dropout, word_dropout: the share of inputs and states that is set to 0, and of words and of
            tags that are replaced by an unknown one.
        rate, encoder_rate: the highest learning rates, of the network and of the encoder.
        clip: the norm that gradients are clipped to.
        averaging: of the exponential moving average of weights that is kept, for each step.
        patience: passes without a better score on held-out sentences.
    """

    order: int = option(
        1, "2 scores siblings, too; by default 1.", type=int, choices=(1, 2), metavar="1|2"
    )
    loss: str = option("tree", "What is minimised.", choices=LOSSES)
    batch_words: int | None = field(default=None, metadata={"minimum": 1})
    layers: int | None = field(default=None, metadata={"minimum": 0})
    hidden: int = field(default=400, metadata={"minimum": 1})
    arc_size: int = field(default=500, metadata={"minimum": 1})
    label_size: int = field(default=100, metadata={"minimum": 1})
    sibling_size: int = field(default=200, metadata={"minimum": 1})
    dropout: float = 0.4
    word_dropout: float = 0.33
    rate: float = 2e-3
    encoder_rate: float = 5e-5
    clip: float = 5.0
    averaging: float = 0.998
    patience: int = 20

    def __post_init__(self) -> None:
        NetworkOptions.__post_init__(self)
        if self.order == 1:
            return
        # Here is also seen what `resolved` finds in the treebank.
        if self.projective is False:
            raise OptionError(_PROJECTIVE_ONLY, "order")
        if self.loss == "local":
            raise OptionError(
                "heads by themselves have no siblings: use a loss of trees, or order 1", "loss"
            )


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: NeuralOptions,
    progress: Callable[[Progress], None] | None,
) -> NeuralModel:
    from crossarc.models.neural.training import train_neural

    return train_neural(sentences, dev, options=options, progress=progress)


def _restore(tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> NeuralModel:
    from crossarc.models.neural.model import NeuralModel

    return NeuralModel.restore(tensors, metadata)


KIND = Kind(
    "neural",
    "the best of all trees, scored by a neural network (extra [torch])",
    NeuralOptions,
    _train,
    _restore,
)
