"""Hypotheses as text and as pictures."""
