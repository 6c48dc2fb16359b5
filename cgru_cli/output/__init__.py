"""Hypotheses as text and as pictures.

`hypothesis` is the result of a search or a scorer. `layout` prints it; `marian_layout` and
`nematus_layout` do so as two families of programs, `layouts` says which program has which layout,
and `numbers` how each writes numbers. `heatmap` draws attention, and `picture_style` is the style
of all pictures.
"""
