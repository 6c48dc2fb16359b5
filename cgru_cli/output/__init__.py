"""Format hypotheses as text and as pictures.

`hypothesis` is the result of a search or a scorer. `layout` formats it as text, and `layouts` has
the layout of each program. `heatmap` draws attention, and `picture_style` is the style of all
pictures.
"""
