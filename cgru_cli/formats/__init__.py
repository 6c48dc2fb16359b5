"""Model files of every program, read into one `Model` and written from it."""
