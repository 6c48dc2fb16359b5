"""`cgru convert`.

`job` converts a model, `description` describes one (`--info`), and `web` writes a web site that
translates in the browser.
"""
