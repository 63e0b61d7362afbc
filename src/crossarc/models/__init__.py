"""A sentence in, scores out: linear features, and the files that models are kept in."""
