"""Hypotheses as text and as pictures.

`hypothesis` is what a search or a scorer gives; `layout` is what the layouts of all programs share,
`marian_layout` and `nematus_layout` are those of two families, `layouts` says which program has
which, and `numbers` how each writes numbers; `heatmap` draws the attention, and
`picture_style` is how all pictures look.
"""
