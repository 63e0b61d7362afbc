"""Commands for treebanks, that need no parser."""
