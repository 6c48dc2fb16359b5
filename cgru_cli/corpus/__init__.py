"""Parallel text as ids and batches."""
