"""What a tokeniser learns from a treebank, and how."""
