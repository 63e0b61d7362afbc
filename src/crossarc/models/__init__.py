"""Models: a sentence in, scores or a tree out, behind one protocol; the tagger; model files."""
