"""The rungs from the language model up to the conditional GRU."""
