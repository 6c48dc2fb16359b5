"""`cgru prep`."""
