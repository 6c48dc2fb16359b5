"""Parallel text as ids and batches.

In the order of the data: `parallel_files` reads files side by side, with the `word_alignments` and
`data_weights` of their lines. `encoding` turns lines into ids and writes them to `number_files`,
which `corpus` maps into memory. `batches` groups sentence pairs, `dropout` draws masks for them,
and `prefetch` prepares batches in a thread while an update is computed. `numpy_order` reproduces
the order in which NumPy's sort of 2015 to 2022 left equal values.
"""
