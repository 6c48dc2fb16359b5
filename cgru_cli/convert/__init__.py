"""`cgru convert`."""
