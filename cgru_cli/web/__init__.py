"""The page that translates: of `cgru serve`, and of `cgru convert --to web` in the browser alone.

`page` has the files that both share, and `site` writes the folder of a page without a server. It
imports errors, `system` and the public `Translator`.
"""
