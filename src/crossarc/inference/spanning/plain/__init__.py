"""Matrix-tree inference in float64, subtraction-free, with a proof that nothing was lost.

`solve` is the algorithm, on cells that hold a number of each of several sentences or of one
(`lanes`). `layout` says where everything lies, `products` has the inner loops, `elimination`,
`substitution` and `base` are the steps, `watch` is a part of the proof, `weights` leads from scores
to weights, `exchange` from sentences to cells and back. `infer` is the way from scores to results,
compiled twice: `together` and `alone`.
"""
