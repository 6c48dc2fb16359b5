"""The programs that cgru stands in for: Marian, amun, Nematus and DL4MT.

`old_programs` writes files with the names of these programs; `programs/` holds their texts.
"""
