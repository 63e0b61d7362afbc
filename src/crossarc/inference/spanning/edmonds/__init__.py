"""Best spanning trees: Edmonds' algorithm, the k best trees, and the best tree with each arc."""
