"""Format hypotheses as text and as pictures.

`hypothesis` is the result of a search or a scorer. `layout` formats it as text, `layouts` has the
layout of each program, and `numbers` formats numbers as the programs do. `heatmap` draws attention,
and `picture_style` is the style of all pictures. `page` reads the files of the web page.
"""
