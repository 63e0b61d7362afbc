"""What users of other libraries type first, and what it is called here.

The names are those of spaCy, Stanza, udapi, conllu, pyconll and NLTK.
"""

from __future__ import annotations

__all__ = ["SENTENCE", "WORD", "attribute_error"]

WORD = {
    "text": "form",
    "orth_": "form",
    "word": "form",
    "i": "id, which counts from 1 in its sentence",
    "ord": "id",
    "idx": "id",
    "index": "id, which counts from 1: sentence[word.id - 1] is the word",
    "address": "id",
    "lemma_": "lemma",
    "pos": "upos",
    "pos_": "upos",
    "upostag": "upos",
    "tag": "xpos",
    "tag_": "xpos",
    "xpostag": "xpos",
    "ctag": "upos",
    "morph": "feats_dict",
    "dep": "deprel",
    "dep_": "deprel",
    "rel": "deprel",
    "udeprel": "deprel.partition(':')[0]",
    "governor": "head",
    "head_": "head, a number, or parent, a Word",
    "is_punct": "(word.upos == 'PUNCT')",
    "is_alpha": "form.isalpha()",
    "lefts": "[child for child in word.children if child.id < word.id]",
    "rights": "[child for child in word.children if child.id > word.id]",
    "n_lefts": "children",
    "n_rights": "children",
    "descendants": "subtree, which holds the word too",
    "left_edge": "subtree[0]",
    "right_edge": "subtree[-1]",
    "conjuncts": "[child for child in word.children if child.deprel == 'conj']",
    "sent": "sentence",
    "doc": "sentence",
    "root": "sentence.root",
    "whitespace_": "misc, which holds SpaceAfter=No where no space follows",
    "no_space_after": "misc, which holds SpaceAfter=No where no space follows",
    "raw_deps": "deps",
    "prev_node": "sentence[word.id - 2]",
    "next_node": "sentence[word.id]",
    "nbor": "sentence[word.id]",
    "multiword": "multiword_token",
    "heads": "head",
    "deprels": "deprel",
    "forms": "form",
    "lemmas": "lemma",
}

SENTENCE = {
    "words": "the sentence itself: for word in sentence",
    "tokens": "the sentence itself: for word in sentence; multiword_tokens holds contractions",
    "nodes": "the sentence itself: for word in sentence",
    "descendants": "the sentence itself: for word in sentence",
    "dependencies": "heads and deprels, or word.head and word.deprel",
    "sents": "the list that the sentence came in: a Sentence is one sentence",
    "sentences": "the list that the sentence came in: a Sentence is one sentence",
    "metadata": "comments, or comment('key') for the value of `# key = value`",
    "meta_value": "comment('key')",
    "id": "sent_id",
    "form": "forms, or word.form",
    "lemma": "lemmas, or word.lemma",
    "head": "heads, or word.head",
    "deprel": "deprels, or word.deprel",
    "pos": "upos",
    "serialize": "to_conllu()",
    "to_conll": "to_conllu()",
    "to_conllx": "crossarc.treebank.write_conllx for files",
    "compute_text": "text",
    "ents": "the words: names are not marked",
    "entities": "the words: names are not marked",
    "noun_chunks": "the subtrees of words: word.subtree",
    "filter": "a comprehension: [word for word in sentence if word.upos == 'NOUN']",
    "to_doc": "to_dict()",
    "conll": "to_conllu()",
    "to_tree": "tree",
    "as_dict": "to_dict()",
    "to_json": "to_dict(), or crossarc.treebank.write_json for files",
    "json": "to_dict(), or crossarc.treebank.write_json for files",
    "print_dependencies": "crossarc.draw.text(sentence)",
    "print_tree": "crossarc.draw.text(sentence)",
    "draw": "crossarc.draw.text(sentence)",
}


def attribute_error(value: object, name: str, elsewhere: dict[str, str]) -> AttributeError:
    """The error for an attribute that is not there, with what to use instead, if that is known."""
    kind = type(value).__name__
    hint = ""
    if name in elsewhere:
        used = elsewhere[name]
        is_attribute = used.partition(".")[0].partition("(")[0].partition(",")[0].isidentifier()
        hint = f": use {kind.lower()}.{used}" if is_attribute else f": use {used}"
    return AttributeError(f"{kind} has no attribute {name!r}{hint}", name=name, obj=value)
