"""`cgru prep`: prepare a folder for training from raw parallel text.

`job` has the steps in order, `request` determines what to make, and `folder` is the output folder.
The first step is `clean`, with `raw_text` and `pair_filters`; other steps send chunks of lines to
parallel processes (`chunk_work`) and count words (`word_counts`). `program_vocabularies` is
separate: it makes vocabularies like the tools of Marian, Nematus and DL4MT.
"""
