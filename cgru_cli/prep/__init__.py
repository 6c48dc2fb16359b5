"""`cgru prep`: from raw parallel text to a folder to train on.

`job` has the steps in their order, `request` what the options ask for, and `folder` the folder that
is written. The first step is `clean`, with `raw_text`, `pair_filters` and `duplicates`; the others
give chunks of lines to parallel processes (`chunk_work`) and count words (`word_counts`). `apply`
is the same preparation as a filter. `program_vocabularies` stands apart: it makes vocabularies as
the tools of Marian, Nematus and DL4MT do.
"""
