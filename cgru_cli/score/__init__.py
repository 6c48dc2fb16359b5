"""`cgru score`."""
