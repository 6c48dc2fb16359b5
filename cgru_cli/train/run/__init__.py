"""A run: where it is, what is kept of it, what is shown of it."""
