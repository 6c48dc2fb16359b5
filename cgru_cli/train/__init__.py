"""`cgru train`."""
