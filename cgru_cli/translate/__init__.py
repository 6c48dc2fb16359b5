"""`cgru translate`."""
