"""Random spanning trees, with and without replacement."""
