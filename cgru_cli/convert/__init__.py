"""`cgru convert`.

`job` converts a model, and `description` describes one (`--info`).
"""
