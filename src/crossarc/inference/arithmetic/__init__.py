"""Numbers of kernels: lanes of sentences in lockstep, wide exponents, exact sums, semirings."""
