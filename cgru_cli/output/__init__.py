"""Formats hypotheses as text and as pictures.

`hypothesis` is the result of a search or a scorer. `layout` prints it, `layouts` as each program
does, and `numbers` writes their numbers. `heatmap` draws attention, and `picture_style` is the
style of all pictures.
"""
