"""Parallel text as ids and batches.

In the order of the data: `parallel_files` reads files in parallel, with the `word_alignments` and
`data_weights` of their lines. `encoding` turns lines into ids, by a `text_encoding`, and `corpus`
keeps these and all else that belongs to a pair in memory-mapped `columns`, `teacher_words` too.
`batches` groups sentence pairs, and `dropout` draws masks for them. `numpy_order` reproduces the
order of equal values in NumPy's sort of 2015 to 2022.
"""
