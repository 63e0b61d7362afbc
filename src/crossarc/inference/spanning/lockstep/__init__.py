"""Matrix-tree inference for eight sentences in lockstep.

`layout` says where everything lies, `products` has the inner loops, `elimination`, `substitution` and
`base` the steps of the algorithm, `weights` the way from scores to weights, and `solve` puts them
together.
"""
