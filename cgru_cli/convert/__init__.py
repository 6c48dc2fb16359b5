"""`cgru convert`: `job` converts a model, `description` describes one (`--info`)."""
