"""One module a command; each imports what it needs when it runs."""
