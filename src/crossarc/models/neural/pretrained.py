"""Pretrained encoders in the format of Hugging Face: vectors of words from their subwords.

A word's vector is the mean of its subwords', each a weighted mean of the encoder's layers (Peters
et al. 2018, https://aclanthology.org/N18-1202/). The root's is that of the first special token.
Weights, configuration and tokeniser travel in the model file. Needs the extra
`crossarc[transformers]`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from crossarc.errors import ModelError
from crossarc.models.checks import Fields
from crossarc.treebank import Sentence

__all__ = ["Pieces", "Pretrained"]


class Pieces(NamedTuple):
    """Subwords of a batch.

    codes, mask: (batch, subwords). words: (batch, subwords), the word of each, 0 for the root, -1
    for special tokens and padding. width: n+1.
    """

    codes: Tensor
    mask: Tensor
    words: Tensor
    width: int


class Pretrained:
    """An encoder with its tokeniser.

    Attributes:
        module: gives vectors (batch, n+1, size) for `Pieces`.
    """

    def __init__(self, name: str, tokenizer: Any, model: Any, longest: int) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._longest = longest
        self.module = _Mixture(model)
        self.size = int(model.config.hidden_size)

    @classmethod
    def load(cls, name: str) -> Pretrained:
        """The encoder in a folder, or of a name that Hugging Face knows.

        Raises:
            ModelError: there is none, or `transformers` is not installed.
        """
        transformers = _transformers()
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, use_fast=True)
            model = transformers.AutoModel.from_pretrained(name)
        except (OSError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ModelError(f"{name}: no encoder in Hugging Face format: {reason}") from None
        if not tokenizer.is_fast:
            raise ModelError(
                f"{name}: the tokeniser is not a fast one: add its tokenizer.json to the folder"
            )
        longest = min(tokenizer.model_max_length, _positions(model))
        return cls(Path(name).name, tokenizer.backend_tokenizer, model, longest)

    def pieces(self, sentences: Sequence[Sentence], device: torch.device) -> Pieces:
        """The subwords of some sentences."""
        found = []
        for sentence in sentences:
            encoding = self._tokenizer.encode(list(sentence.forms), is_pretokenized=True)
            found.append((encoding.ids, [-1 if w is None else w + 1 for w in encoding.word_ids]))
        width = min(self._longest, max(len(ids) for ids, _ in found))
        codes = torch.zeros(len(found), width, dtype=torch.long)
        mask = torch.zeros(len(found), width, dtype=torch.long)
        words = torch.full((len(found), width), -1)
        for row, (ids, own) in enumerate(found):
            # What an encoder cannot read, because the sentence is too long, gets zeros.
            size = min(len(ids), width)
            codes[row, :size] = torch.tensor(ids[:size])
            mask[row, :size] = 1
            words[row, :size] = torch.tensor(own[:size])
        words[:, 0] = 0
        longest = max(len(one) for one in sentences)
        return Pieces(codes.to(device), mask.to(device), words.to(device), longest + 1)

    def metadata(self) -> dict[str, Any]:
        """All but the weights, for JSON."""
        return {
            "name": self.name,
            "config": self.module.model.config.to_json_string(use_diff=False),
            "tokenizer": self._tokenizer.to_str(),
            "longest": self._longest,
        }

    @classmethod
    def restore(
        cls, metadata: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
    ) -> Pretrained:
        """The encoder that `metadata` describes, with weights still to be loaded.

        Args:
            shapes: of its weights. A configuration of other sizes is refused before memory is
                taken for it.
        """
        transformers = _transformers()
        from tokenizers import Tokenizer

        about = Fields(metadata, "the encoder")
        config = _only_sizes(json.loads(about.text("config")))
        for name, value in config.items():
            if "layers" in name and isinstance(value, int) and value > len(shapes):
                raise ModelError("the encoder of the model has more layers than weights")
        with torch.device("meta"):
            # Code of others is never run: the architecture is one of the library's own.
            outline = transformers.AutoModel.from_config(
                transformers.AutoConfig.for_model(**config), trust_remote_code=False
            )
        if {name: tuple(one.shape) for name, one in outline.state_dict().items()} != shapes:
            raise ModelError("the weights of the encoder do not fit its configuration")
        model = transformers.AutoModel.from_config(
            transformers.AutoConfig.for_model(**config), trust_remote_code=False
        )
        tokenizer = Tokenizer.from_str(about.text("tokenizer"))
        known = int(model.get_input_embeddings().weight.shape[0])
        if max(tokenizer.get_vocab().values(), default=0) >= known:
            raise ModelError("the tokeniser of the encoder has subwords without a vector")
        return cls(about.text("name"), tokenizer, model, about.whole("longest", 1, 1 << 31))


class _Mixture(nn.Module):  # type: ignore[misc]  # torch is not there for every type check
    """An encoder, the weights of its layers, and the means of subwords."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.weights = nn.Parameter(torch.zeros(int(model.config.num_hidden_layers) + 1))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, pieces: Pieces) -> Tensor:
        """(batch, n+1, size)."""
        out = self.model(pieces.codes, attention_mask=pieces.mask, output_hidden_states=True)
        layers = torch.stack(out.hidden_states)
        mixed = torch.tensordot(self.weights.softmax(0), layers, 1) * self.scale
        # Subwords of no word go to a column of their own, which is cut off.
        words = torch.where(pieces.words >= 0, pieces.words, pieces.width)
        sums = mixed.new_zeros(len(mixed), pieces.width + 1, mixed.shape[2])
        sums = sums.scatter_add(1, words.unsqueeze(2).expand_as(mixed), mixed)
        counts = mixed.new_zeros(len(mixed), pieces.width + 1)
        counts = counts.scatter_add(1, words, torch.ones_like(words, dtype=mixed.dtype))
        return (sums / counts.clamp(min=1.0).unsqueeze(2))[:, :-1]


# What makes the library fetch code or weights from elsewhere, or run other implementations.
_ELSEWHERE = ("auto_map", "quantization_config", "attn_implementation", "backbone", "use_kernels")


def _only_sizes(config: Any) -> dict[str, Any]:
    """A configuration without what names files, code or implementations."""
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise ModelError("the encoder of the model has no configuration: use another model")
    return {
        name: value
        for name, value in config.items()
        if not name.startswith(("_", *_ELSEWHERE)) and not name.endswith("_backbone")
    }


def _positions(model: Any) -> int:
    """How many subwords the encoder can read; some reserve two positions."""
    return int(getattr(model.config, "max_position_embeddings", 1 << 20)) - 2


def _transformers() -> Any:
    try:
        import transformers
    except ImportError:
        raise ModelError(
            'a pretrained encoder needs transformers: pip install "crossarc[transformers]"'
        ) from None
    transformers.utils.logging.disable_progress_bar()
    return transformers
