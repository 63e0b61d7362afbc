"""Encoders in the format of Hugging Face, with a tiny random one made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_treebank import toy_treebank

from crossarc import ModelError, Sentence
from crossarc.parser import Parser

torch = pytest.importorskip("torch", reason="extra [torch] is not installed")
transformers = pytest.importorskip("transformers", reason="extra [transformers] is not installed")

from crossarc.models.neural.pretrained import Pretrained  # noqa: E402

BANK, DEV = toy_treebank(30, 0), toy_treebank(8, 1)
TINY: dict[str, Any] = {
    "kind": "neural",
    "hidden": 8,
    "arc_size": 8,
    "label_size": 8,
    "batch_words": 60,
    "encoder_rate": 0.005,
    "rate": 0.01,
    "averaging": 0.9,
    "dropout": 0.1,
    "word_dropout": 0.1,
    "text": False,
    "threads": 1,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with random weights; "v3" has the pieces v and ##3."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "v", "n", *(f"##{k}" for k in range(9))]
    words = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    path = tmp_path_factory.mktemp("encoder")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", model_max_length=40
    ).save_pretrained(path)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=42,
    )
    transformers.BertModel(config).save_pretrained(path)
    return path


def test_words_are_means_of_their_pieces_over_mixed_layers(folder: Path) -> None:
    encoder = Pretrained.load(str(folder))
    encoder.module.eval()
    bank = [Sentence.build(["the", "n3"]), Sentence.build(["v1", "x", "n2", "the"])]
    pieces = encoder.pieces(bank, torch.device("cpu"))
    assert pieces.words.tolist() == [[0, 1, 2, 2, -1, -1, -1, -1], [0, 1, 1, 2, 3, 3, 4, -1]]
    assert pieces.mask.sum(1).tolist() == [5, 8]
    with torch.no_grad():
        encoder.module.weights.copy_(torch.tensor([0.5, -1.0, 2.0]))
        encoder.module.scale.fill_(1.5)
        found = encoder.module(pieces)
        layers = encoder.module.model(
            pieces.codes[1:], attention_mask=pieces.mask[1:], output_hidden_states=True
        ).hidden_states
        shares = torch.tensor([0.5, -1.0, 2.0]).softmax(0)
        mixed = 1.5 * sum(share * layer[0] for share, layer in zip(shares, layers, strict=True))
        expected = [mixed[0], mixed[1:3].mean(0), mixed[3], mixed[4:6].mean(0), mixed[6]]
    assert tuple(found.shape) == (2, 5, 16)
    torch.testing.assert_close(found[1], torch.stack(expected), atol=1e-5, rtol=0)
    assert not found[0, 3:].any()  # padding


def test_sentences_that_are_too_long_are_cut(folder: Path) -> None:
    encoder = Pretrained.load(str(folder))
    pieces = encoder.pieces([Sentence.build(["n1"] * 30)], torch.device("cpu"))
    assert tuple(pieces.codes.shape) == (1, 40)
    found = encoder.module(pieces)
    assert tuple(found.shape) == (1, 31, 16)
    assert not found[0, 21:].any()


def test_train_save_and_load(folder: Path, tmp_path: Path) -> None:
    """The file needs nothing else: the encoder travels in it."""
    before = Pretrained.load(str(folder)).module.model.state_dict()
    parser = Parser.train(BANK, DEV, passes=15, encoder=str(folder), **TINY)
    model: Any = parser.model
    assert model.engine.shape.layers == 1
    name = "encoder.layer.0.attention.self.query.weight"
    changed = model.engine.network.encoder.model.state_dict()[name]
    assert not torch.equal(changed, before[name])  # it is trained as well
    parser.save(tmp_path / "model")
    again = Parser.load(tmp_path / "model")
    for key, array in again.model.state().items():
        np.testing.assert_array_equal(array, model.state()[key])
    assert [one.to_conllu() for one in again.parse(DEV)] == [
        one.to_conllu() for one in parser.parse(DEV)
    ]
    assert parser.training["uas"] > 90.0


def test_no_encoder_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no encoder in Hugging Face format") as caught:
        Parser.train(BANK, passes=1, encoder=str(tmp_path), **TINY)
    assert "\n" not in str(caught.value)
