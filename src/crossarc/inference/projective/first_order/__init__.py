"""Projective trees scored by their arcs alone (Eisner 1996)."""
