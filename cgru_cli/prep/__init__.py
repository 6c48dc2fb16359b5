"""`cgru prep`: from raw parallel text to a folder to train on.

`job` is the order of the steps, `request` what is asked for, `folder` what the folder holds. The
first step is `clean`, with `raw_text`, `pair_filters` and `duplicates`; the others hand lines to
processes (`chunk_work`) and count words (`word_counts`). `apply` is the pipeline as a filter.
`program_vocabularies` is no part of that: vocabularies as Marian's and Nematus' tools make them.
"""
