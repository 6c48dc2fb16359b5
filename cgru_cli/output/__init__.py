"""Format hypotheses as text and as pictures.

`hypothesis` is the result of a search or a scorer. `layout` formats it, `layouts` in the way of
each program, and `numbers` formats their numbers. `heatmap` draws attention, and `picture_style` is
the style of all pictures.
"""
