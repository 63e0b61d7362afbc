"""The kind "combined": several models as one; trained, a linear and a neural one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crossarc.models.kinds import Kind, OptionError, TrainOptions, find_kind, kind_names, option
from crossarc.models.neural.kind import NetworkOptions, NeuralOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crossarc.learning import Progress
    from crossarc.models.combined.model import CombinedModel
    from crossarc.treebank import Sentence

__all__ = ["KIND", "CombinedOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedOptions(NetworkOptions):
    """How to train a combination; the options of `NetworkOptions` are of its neural members.

    Attributes:
        members: kinds of the members, in the order in which they are trained; members of the same
            kind have different seeds.
    """

    members: str = option(
        "graph,neural", "Kinds of the members, with commas between.", metavar="KIND,KIND"
    )

    def __post_init__(self) -> None:
        NetworkOptions.__post_init__(self)
        for name in self.members.split(","):
            if name == "combined" or name not in kind_names():
                others = [one for one in kind_names() if one != "combined"]
                raise OptionError(f"must be among {', '.join(others)}: got {name!r}", "members")


def _train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: CombinedOptions,
    progress: Callable[[Progress], None] | None,
) -> CombinedModel:
    from crossarc.learning import Progress
    from crossarc.models.combined.fitting import fit_weights
    from crossarc.models.combined.model import CombinedModel, Member

    members = []
    for number, name in enumerate(options.members.split(",")):
        kind = find_kind(name)
        own = _member_options(kind, options, number).resolved(sentences)
        model: Any = kind.train(sentences, dev, own, progress)
        if not hasattr(model, "score"):
            raise OptionError(f"the kind {kind.name!r} has no probabilities", "members")
        members.append(Member(model, bool(own.projective), own.root or "single"))
    combined = CombinedModel(members)
    if dev:
        scores = fit_weights(
            combined,
            dev,
            projective=bool(options.projective),
            root=options.root or "single",
            threads=options.threads,
        )
        if progress is not None:
            progress(Progress(options.passes, options.passes, 1.0, 0.0, 0.0, 0.0, scores))
    return combined


def _member_options(kind: Kind, options: CombinedOptions, number: int) -> TrainOptions:
    """The options of a member: those that it shares with the combination."""
    own = kind.options(
        projective=options.projective,
        root=options.root,
        threads=options.threads,
        seed=options.seed + number,
    )
    if not isinstance(own, NeuralOptions):
        return own
    checkpoint = None if options.checkpoint is None else f"{options.checkpoint}.{number}"
    return replace(
        own,
        passes=options.passes,
        encoder=options.encoder,
        device=options.device,
        precision=options.precision,
        checkpoint=checkpoint,
    )


def _restore(tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> CombinedModel:
    from crossarc.models.combined.model import CombinedModel

    return CombinedModel.restore(tensors, metadata)


KIND = Kind(
    "combined",
    "a linear and a neural model, multiplied by their probabilities (extra [torch])",
    CombinedOptions,
    _train,
    _restore,
)
