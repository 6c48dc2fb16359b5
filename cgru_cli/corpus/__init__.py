"""Parallel text as ids and batches.

`parallel_files` are read side by side, `encoding` makes them ids, kept in `number_files` and found
again by `corpus`; `word_alignments` and `data_weights` go with them. `batches` puts pairs together,
`prefetch` ahead of time, and `dropout` draws their masks.
"""
