"""Attention, drawn."""
