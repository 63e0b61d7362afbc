"""A sentence in, scores out: linear features, tagger; and the files that models are kept in."""
