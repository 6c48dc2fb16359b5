"""cgru: recurrent neural machine translation with the conditional GRU."""

__version__ = "0.1.0"
