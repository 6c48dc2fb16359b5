"""`cgru old-programs`: a folder of programs with the names that Marian, Nematus and DL4MT have.

`programs` says which there are and which `cgru` each stands for, `scripts` what is in their files,
`job` writes them.
"""
