"""The kinds of parsing models: the one list of them, and what each says about itself.

A kind is a class of models (`crossarc.models.protocol`), the options that it is trained with, and
two functions, one that trains a model and one that restores it from a file. To add a kind, write a
module with a `Kind` called KIND and name the module in `_MODULES`, or call `register`. Nothing else
knows how many there are. This module and those that it names load no NumPy: the command line reads
them for `--help`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crossarc.learning import Progress
    from crossarc.models.protocol import Model
    from crossarc.treebank import Sentence

__all__ = [
    "Kind",
    "OptionError",
    "RootRule",
    "TrainOptions",
    "Variants",
    "find_kind",
    "kind_names",
    "option",
    "quoted",
    "register",
]

RootRule = Literal["single", "multi"]
#: Options that differ from the given ones, with how long they take beside the first, one after the
#: other; what is sent back is how each scored, -inf where there was no time for it.
Variants = Generator[tuple[dict[str, Any], float], float, None]

_MODULES = {
    "graph": "crossarc.models.graph",
    "covington": "crossarc.models.covington.kind",
    "neural": "crossarc.models.neural.kind",
    "combined": "crossarc.models.combined.kind",
}
_REGISTERED: dict[str, Kind] = {}

# At most so many percent of non-projective arcs, and projective trees parse better than all trees
# (docs/parser.md has the table).
_PROJECTIVE_UP_TO = 0.55


class OptionError(ValueError):
    """Options that are unknown, out of range, or at odds with each other.

    Args:
        what: what is wrong and what to do, without the names.
        names: the options, as keyword arguments are called.
    """

    def __init__(self, what: str, *names: str) -> None:
        self.what, self.names = what, names
        super().__init__(f"{' and '.join(names)}: {what}" if names else what)


def option(
    default: Any,
    help: str,
    *,
    type: type = str,
    minimum: int | None = None,
    choices: Sequence[str | int] | None = None,
    metavar: str | None = None,
) -> Any:
    """A field of `TrainOptions` that `crossarc train` has a flag for."""
    shown = {"help": help, "type": type, "metavar": metavar}
    return field(default=default, metadata={"minimum": minimum, "choices": choices, "flag": shown})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """How to train a model of any kind; a kind adds options of its own in a sub-class.

    Attributes:
        projective, root: the trees to learn and to parse with; None for what `resolved` finds in
            the treebank.
        passes: over the treebank, at most.
        seed: of the order of sentences.
        threads: `CROSSARC_THREADS`, else all cores; the model does not depend on it.

    Raises:
        OptionError: a value that is out of range.
    """

    projective: bool | None = field(default=None, metadata={"choices": (True, False)})
    root: RootRule | None = field(default=None, metadata={"choices": ("single", "multi")})
    passes: int = field(default=6, metadata={"minimum": 1})
    seed: int = field(default=0, metadata={"minimum": 0})
    threads: int | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            minimum, choices = one.metadata.get("minimum"), one.metadata.get("choices")
            if value is None:
                continue
            if minimum is not None and value < minimum:
                raise OptionError(f"must be at least {minimum}: got {value}", one.name)
            if choices is not None and value not in choices:
                raise OptionError(f"must be {quoted(choices)}: got {value!r}", one.name)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of all options."""
        return tuple(one.name for one in fields(cls))

    def resolved(self, sentences: Sequence[Sentence]) -> Self:
        """These options, with those that depend on the treebank decided.

        Projective trees where at most 0.55% of the arcs are non-projective; a single root unless a
        sentence has several.
        """
        projective, root = self.projective, self.root
        if projective is None:
            projective = _is_nearly_projective(sentences)
        if root is None:
            root = "multi" if any((s.heads == 0).sum() > 1 for s in sentences) else "single"
        return dataclasses.replace(self, projective=projective, root=root)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of model.

    Attributes:
        name: as in `crossarc train --kind` and in model files.
        summary: what it does, for `--help`.
        options: the class of its training options.
        train: a model from sentences, held-out sentences (may be none), resolved options and a
            callback for progress.
        restore: the model that `tensors()` and `metadata()` were taken from.
        variants: what to try where there is time to choose by held-out sentences, given resolved
            options and the names of those that must stay.
        usual: options that depend on the treebank and are not given, from those that are given, the
            sentences and the held-out ones.
    """

    name: str
    summary: str
    options: type[TrainOptions]
    train: Callable[
        [Sequence[Sentence], Sequence[Sentence], Any, Callable[[Progress], None] | None], Model
    ]
    restore: Callable[[dict[str, NDArray[Any]], dict[str, Any]], Model]
    variants: Callable[[Any, frozenset[str]], Variants] | None = None
    usual: (
        Callable[[Mapping[str, Any], Sequence[Sentence], Sequence[Sentence]], dict[str, Any]] | None
    ) = None

    def build_options(self, given: Mapping[str, Any]) -> TrainOptions:
        """The options from keyword arguments.

        Raises:
            OptionError: an option that this kind does not have, or a value out of range.
        """
        known = self.options.names()
        for name in given:
            if name in known:
                continue
            owners = [one for one in kind_names() if name in find_kind(one).options.names()]
            if owners:
                what = f"an option of the kind {quoted(owners)} only, not of {self.name!r}"
            else:
                what = f"no such option of the kind {self.name!r}: use {', '.join(known)}"
            raise OptionError(what, name)
        return self.options(**given)


def register(kind: Kind) -> None:
    """Add a kind for the rest of the program."""
    _REGISTERED[kind.name] = kind


def kind_names() -> tuple[str, ...]:
    """The names of all kinds."""
    return tuple(dict.fromkeys([*_MODULES, *_REGISTERED]))


def find_kind(name: str) -> Kind:
    """The kind of a name.

    Raises:
        OptionError: there is none.
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in _MODULES:
        raise OptionError(f"must be {quoted(kind_names())}: got {name!r}", "kind")
    kind: Kind = importlib.import_module(_MODULES[name]).KIND
    return kind


def quoted(names: Sequence[str | int]) -> str:
    """Names as a choice: "a", "b" or "c"."""
    *most, last = [f'"{name}"' for name in names]
    return f"{', '.join(most)} or {last}" if most else last


def _is_nearly_projective(sentences: Sequence[Sentence]) -> bool:
    trees = [one.tree for one in sentences if (one.heads >= 0).all()]
    crossing = sum(int(tree.nonprojective_arcs.sum()) for tree in trees)
    return 100 * crossing <= _PROJECTIVE_UP_TO * sum(map(len, trees))
