"""Several models as one, by the probabilities of their arcs and labels."""
