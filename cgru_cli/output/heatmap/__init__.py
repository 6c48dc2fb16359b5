"""Attention, drawn.

`heatmaps` chooses the lines and writes the file; `view` is what is shown of one; `page` (with
`page.html`) and `picture` draw it.
"""
