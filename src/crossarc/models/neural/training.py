"""Training the neural model: passes over batches of sentences of similar length.

Adam with a warm-up and a cosine decay of the learning rate; what is measured and kept is the
exponential moving average of the weights. Everything random in a pass is drawn from the seed and
the number of the pass, so that a training that resumes goes on as if it had never stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  # as everywhere
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.learning import Progress
from crossarc.models.attachment import attachment_scores
from crossarc.models.checkpoints import Checkpoint, joined, section
from crossarc.models.encode import seen_labels
from crossarc.models.kinds import OptionError
from crossarc.models.neural.calibration import calibrate
from crossarc.models.neural.inputs import Batch, Shape, Vocabularies, length_batches
from crossarc.models.neural.kind import NeuralOptions
from crossarc.models.neural.losses import LOSS_FUNCTIONS, Family, LossFunction
from crossarc.models.neural.model import NeuralModel, NeuralScores
from crossarc.models.neural.network import TensorBatch
from crossarc.models.neural.pretrained import Pretrained
from crossarc.models.neural.torch_engine import TorchEngine, default_device, torch_threads
from crossarc.treebank import Sentence

__all__ = ["train_neural"]

Arrays = dict[str, NDArray[Any]]

_SIZES = ("hidden", "arc_size", "label_size", "dropout", "word_dropout")
_WARM_UP = 0.02
_BETAS = (0.9, 0.98)


def train_neural(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    options: NeuralOptions | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> NeuralModel:
    """A model of a treebank; heads that are missing are summed over.

    Args:
        dev: held-out sentences: the pass that labels most of their arcs right is kept, and
            temperatures are fitted on them.

    Raises:
        ModelError: there is no sentence with heads to learn from, or none among those held out; a
            checkpoint of another training.
        OptionError: there is no such device.
    """
    if not any((one.heads >= 0).any() for one in sentences):
        raise ModelError("there is nothing to learn from: no sentence has a head")
    if dev and not any((one.heads >= 0).any() for one in dev):
        raise ModelError("no held-out sentence has a head: give some with trees, or none at all")
    chosen = (options or NeuralOptions()).resolved(sentences)
    device = _device(chosen.device)
    devices = [device] if device.type == "cuda" else []
    with torch_threads(chosen.threads), torch.random.fork_rng(devices):
        torch.manual_seed(chosen.seed)
        # The weights are drawn on the CPU: they are the same whatever the device.
        model, engine = _build(sentences, chosen)
        engine.to(device)
        training = _Training(model, engine, sentences, dev, chosen)
        training.run(progress)
        model.load_state(training.kept)
        model.freeze()
        if dev:
            calibrate(model, dev, chosen)
    training.checkpoint.remove()
    return model


class _Training:
    """A model, what it learns from, and the state of the optimiser."""

    def __init__(
        self,
        model: NeuralModel,
        engine: TorchEngine,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        options: NeuralOptions,
    ) -> None:
        self.model, self.engine, self.options = model, engine, options
        self.network, self.device = engine.network, engine.device
        self.sentences, self.dev = sentences, dev
        self.family = Family.of(options)
        data = model.encode(sentences, gold=True)
        if options.loss != "local":
            data = data.learnable(projective=self.family.projective, root=self.family.root)
        self.data = data
        self.dev_data = model.encode(dev, gold=True) if dev else None
        words = options.batch_words or int(np.clip(data.sizes.sum() / 40, 400, 2000))
        self.batch_words = max(words, int(data.sizes.max()))
        self.weights = dict(self.network.named_parameters())
        self.average = {name: one.detach().clone() for name, one in self.weights.items()}
        self.steps, self.done = 0, 0
        self.best, self.best_pass = -math.inf, 0
        self.kept: Arrays = {}
        pretrained = [one for name, one in self.weights.items() if name.startswith("encoder.")]
        other = [one for name, one in self.weights.items() if not name.startswith("encoder.")]
        groups = [{"params": other, "highest": options.rate}]
        if pretrained:
            groups.append({"params": pretrained, "highest": options.encoder_rate})
        self.optimizer = torch.optim.Adam(
            groups, betas=_BETAS, fused=self.device.type == "cuda" or None
        )
        self.checkpoint = Checkpoint(options.checkpoint, self._identity())

    def run(self, progress: Callable[[Progress], None] | None) -> None:
        """All passes, or the rest of them."""
        passes, patience = self.options.passes, self.options.patience
        self._resume()
        clock = _Clock(passes, self.done, int(self.data.sizes.sum()))
        for number in range(self.done + 1, passes + 1):
            if self.dev_data is not None and number - self.best_pass > patience:
                break
            loss = self._run_pass(number, clock, progress)
            scores = self._measure()
            if progress is not None:
                progress(clock.look(number, 1.0, loss, scores))
            deciding = next(iter(scores.values()), math.inf)
            if deciding > self.best or not scores:
                self.best, self.best_pass = deciding, number
                self.kept = _arrays(self.average)
            self.done = number
            if self.options.checkpoint is not None:
                self._save()

    def _run_pass(
        self, number: int, clock: _Clock, progress: Callable[[Progress], None] | None
    ) -> float:
        rng = np.random.default_rng([self.options.seed, number])
        torch.manual_seed(int(rng.integers(2**62)))
        self.network.train()
        batches = list(length_batches(self.data.sizes, self.batch_words, rng))
        losses = torch.zeros((), device=self.device)
        words = 0
        for count, sentences in enumerate(batches, 1):
            share = (number - 1 + (count - 1) / len(batches)) / self.options.passes
            size = int(self.data.sizes[sentences].sum())
            losses += size * self._step(sentences, share)
            words += size
            clock.words += size
            # The loss is read from the device only now and then: each time waits for it.
            if progress is not None and (count % 20 == 0 or self.device.type == "cpu"):
                progress(clock.look(number, count / len(batches), float(losses) / words, {}))
        return float(losses) / max(words, 1)

    def _step(self, sentences: NDArray[np.int64], share: float) -> torch.Tensor:
        """One step; returns the loss, a word."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["highest"] * _schedule(share)
        loss = self._batch_loss(self.data.batch(sentences))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(self.weights.values()), self.options.clip)
        self.optimizer.step()
        self.steps += 1
        # At first the average follows closely, as the first weights know nothing.
        share = 1.0 - min(self.options.averaging, (1 + self.steps) / (10 + self.steps))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.values()), list(self.weights.values()), share)
        return loss.detach()

    def _loss_function(self) -> LossFunction:
        """What arcs learn from now.

        The expected number of wrong heads has local minima: the first half of the passes makes the
        gold trees probable.
        """
        if self.options.loss == "risk" and self.done < self.options.passes // 2:
            return LOSS_FUNCTIONS["tree"]
        return LOSS_FUNCTIONS[self.options.loss]

    def _batch_loss(self, arrays: Batch) -> torch.Tensor:
        """Of trees, and of labels given the gold arcs."""
        batch = TensorBatch.of(arrays, self.device)
        own = [self.sentences[number] for number in arrays.sentences.tolist()]
        mixed = self.options.precision == "bf16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=mixed):
            out = self.network(batch, self.engine.pieces(own))
            rows, words = torch.nonzero((batch.heads >= 0) & (batch.labels >= 0), as_tuple=True)
            heads = batch.heads[rows, words]
            labels = self.network.label_table(
                out.label_heads[rows, heads], out.label_modifiers[rows, words]
            )
            factors = self.network.factors(out)
        loss = self._loss_function()(
            out.arcs.float(),
            batch.targets,
            batch.sizes,
            self.family,
            **{name: one.float() for name, one in factors.items()},
        )
        if len(rows):
            loss = loss + F.cross_entropy(labels.float(), batch.labels[rows, words])
        return loss

    def _measure(self) -> dict[str, float]:
        """LAS and UAS of the held-out sentences, under the average of the weights.

        UAS decides where none of their labels is known, and LAS can only be 0.
        """
        if self.dev_data is None:
            return {}
        current = [one.detach().clone() for one in self.weights.values()]
        self._write(self.average.values())
        scores = attachment_scores(
            NeuralScores(self.model, self.dev_data, self.dev),
            self.dev,
            self.model.labels,
            projective=self.family.projective,
            root=self.family.root,
            threads=self.options.threads,
        )
        self._write(current)
        known = (self.dev_data.labels >= 0).any()
        return scores if known else dict(reversed(scores.items()))

    def _write(self, values: Any) -> None:
        with torch.no_grad():
            torch._foreach_copy_(list(self.weights.values()), list(values))

    def _save(self) -> None:
        moments = {
            f"{part}.{name}": self.optimizer.state[weight][part].cpu().numpy()
            for name, weight in self.weights.items()
            if weight in self.optimizer.state
            for part in ("exp_avg", "exp_avg_sq", "step")
        }
        weights, average = _arrays(self.weights), _arrays(self.average)
        self.checkpoint.save(
            joined(weights=weights, average=average, kept=self.kept) | moments,
            {
                "steps": self.steps,
                "done": self.done,
                "best": None if math.isinf(self.best) else self.best,
                "best_pass": self.best_pass,
            },
        )

    def _resume(self) -> None:
        """Go on where a checkpoint was written, if there is one."""
        found = self.checkpoint.load()
        if found is None:
            return
        arrays, state = found
        weights, average = section(arrays, "weights"), section(arrays, "average")
        for name, weight in self.weights.items():
            with torch.no_grad():
                weight.copy_(torch.from_numpy(weights[name].copy()))
                self.average[name].copy_(torch.from_numpy(average[name].copy()))
            if f"step.{name}" in arrays:
                self.optimizer.state[weight] = {
                    part: torch.from_numpy(arrays[f"{part}.{name}"].copy()).to(self.device)
                    for part in ("exp_avg", "exp_avg_sq", "step")
                }
        self.kept = {name: array.copy() for name, array in section(arrays, "kept").items()}
        self.steps, self.done, self.best_pass = state["steps"], state["done"], state["best_pass"]
        self.best = -math.inf if state["best"] is None else state["best"]

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a training to resume."""
        own = asdict(self.options)
        for name in ("threads", "device", "checkpoint"):
            del own[name]
        return own | {"words": int(self.data.sizes.sum()), "sentences": len(self.data)}


def _build(
    sentences: Sequence[Sentence], options: NeuralOptions
) -> tuple[NeuralModel, TorchEngine]:
    """A model with the words and labels of a treebank, weights drawn by PyTorch's generator."""
    labels, permitted = seen_labels(sentences)
    vocabularies = Vocabularies.build(sentences)
    pretrained = None if options.encoder is None else Pretrained.load(options.encoder)
    layers = options.layers
    if layers is None:
        layers = 2 if pretrained is None else 1
    shape = Shape.of(
        vocabularies,
        labels=len(labels),
        layers=layers,
        encoder_size=0 if pretrained is None else pretrained.size,
        sibling_size=options.sibling_size if options.order > 1 else 0,
        **{name: getattr(options, name) for name in _SIZES},
    )
    engine = TorchEngine(shape, pretrained)
    model = NeuralModel(vocabularies, labels, engine)
    model.permitted = permitted
    return model, engine


def _schedule(share: float) -> float:
    """The learning rate as a share of the highest: a linear rise, then half a cosine to 0."""
    if share < _WARM_UP:
        return (share + 1e-3) / (_WARM_UP + 1e-3)
    return 0.5 * (1.0 + math.cos(math.pi * (share - _WARM_UP) / (1.0 - _WARM_UP)))


def _device(name: str | None) -> torch.device:
    if name is None:
        return default_device()
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError):
        raise OptionError(f"no such device here: {name!r}; use cpu", "device") from None
    return device


def _arrays(weights: dict[str, torch.Tensor]) -> Arrays:
    return {name: one.detach().cpu().numpy().copy() for name, one in weights.items()}


class _Clock:
    """How fast training goes, and how long it will take."""

    def __init__(self, passes: int, done: int, words: int) -> None:
        self._passes, self._left = passes, (passes - done) * words
        self.words = 0
        self._begin = time.perf_counter()

    def look(self, number: int, share: float, loss: float, scores: dict[str, float]) -> Progress:
        speed = self.words / max(time.perf_counter() - self._begin, 1e-9)
        left = (self._left - self.words) / max(speed, 1e-9)
        return Progress(number, self._passes, share, loss, speed, left, scores)
