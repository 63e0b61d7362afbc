"""Sums over spanning trees by the matrix-tree theorem, without a subtraction.

Read w[h, m] = exp(scores[h, m]) as a walk that steps from m to h and ends at the root. Eliminating
node k,

    d_k = sum over the remaining h of w[h, k],      w[h, m] += w[h, k] w[k, m] / d_k,

leaves the same tree weight times d_k, so Z is the product of the d_k. With the escape probabilities
E[h, m], that the walk from h reaches the root before m,

    mu[h, m] = w[h, m] E[h, m] / s_m,      s_m = sum over h of w[h, m] E[h, m].

Only sums, products and quotients of non-negative numbers occur, so every result has a relative
error of a few n rounding units (docs/numerics.md).

One text for each step, on cells of float64 or of wide numbers, of one sentence or of eight in
lockstep (`crossarc.inference.arithmetic.lanes`):

    layout        regions of the workspace, and the order of the steps
    weights       scores to weights
    products      products of matrices, the inner loops
    elimination   of half of a block's nodes, by four
    escape        E of four nodes; substitution back to eliminated nodes
    underflow     when float64 is enough
    solve         all steps: Z, E, marginals
    results       from cells to arrays
    sums          the kernels of log Z and marginals, and what a batch needs of them
    pairs         weight gradients, and the probabilities of two arcs at once
    derivatives   Hessian-vector products of log Z
"""
