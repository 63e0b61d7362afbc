"""Learners of the weights of arcs: one problem, and the ways to solve it."""
