"""Hypotheses as text and as pictures.

`hypothesis` is what a search or a scorer gives; `layout` prints it as each program does, with its
`numbers`; `heatmap` draws its attention.
"""
