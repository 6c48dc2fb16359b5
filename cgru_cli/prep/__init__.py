"""`cgru prep`: from raw parallel text to a folder to train on.

`job` has the steps in order, `request` decides what to make, and `folder` is the folder that
is written. The first step is `clean`, with `raw_text` and `pair_filters`; the others send chunks of
lines to parallel processes (`chunk_work`) and count words (`word_counts`). `program_vocabularies`
is separate: it makes vocabularies like the tools of Marian, Nematus and DL4MT.
"""
