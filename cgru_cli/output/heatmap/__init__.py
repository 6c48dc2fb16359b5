"""Heat maps of the attention.

`heatmaps` chooses the lines and writes the file, `view` is the content of one heat map, and `page`
(with `page.html`) and `picture` draw it.
"""
