"""The computation of a model."""
