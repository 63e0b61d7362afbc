"""Batches of sentences on their way through kernels: layout, groups, work queue, workspaces."""
