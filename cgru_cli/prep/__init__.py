"""`cgru prep`: from raw parallel text to a folder to train on.

`job` has the steps in their order, `request` decides what to make, and `folder` is the folder that
is written. The first step is `clean`, with `raw_text`, `pair_filters` and `duplicates`; the others
send chunks of lines to parallel processes (`chunk_work`) and count words (`word_counts`). `apply`
is the same pipeline as a filter. `program_vocabularies` is separate: it makes vocabularies like the
tools of Marian, Nematus and DL4MT.
"""
