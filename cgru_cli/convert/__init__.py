"""`cgru convert`: `job` does it, `description` tells what a model is (`--info`)."""
