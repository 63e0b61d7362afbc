"""Projective trees: no arc passes over a word that its head does not dominate."""
