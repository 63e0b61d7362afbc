"""Projective trees with sibling factors (Eisner 1996; McDonald & Pereira 2006)."""
