"""The parts of the tagger."""
