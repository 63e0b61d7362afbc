"""A transition parser: what to do with each pair of words, by a linear classifier."""
