"""A corpus of any size: worker processes, finished work that is remembered, a Ray cluster."""
