"""Which arrays a model has, and what each program calls them."""
