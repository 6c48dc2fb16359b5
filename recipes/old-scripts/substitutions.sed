# Smaller models
s/--type (s2s|amun|transformer)/--type \1 --dim-emb 16 --dim-rnn 32/
s/--dim_word [0-9]+/--dim_word 16/; s/--dim [0-9]+/--dim 32/
s/dim_word=500/dim_word=16/; s/dim=1024/dim=32/
s/dim_per_factor=\[360,5,115,10,10\]/dim_per_factor=[4,3,3,3,3]/
s/--enc-depth 6 --dec-depth 6/--enc-depth 2 --dec-depth 2/
s/--enc-cell-depth 4/--enc-cell-depth 2/; s/--dec-cell-base-depth 8/--dec-cell-base-depth 3/
# Fewer models, updates and sub-words
s/^N=4/N=2/
s/--mini-batch-fit -w [0-9A-Z$]+/--mini-batch-fit -w 20/
s/--early-stopping 5/--early-stopping 5 --after-batches 20/
s/--n_words(_src)? 30000/--n_words\1 1000/
s/--finish_after [0-9]+/--finish_after 10/; s/model\.npz-500/model.npz-10/
s/reload_=True/reload_=True, finish_after=20/
s/--(valid|save)-freq [0-9]+/--\1-freq 10/g; s/--disp-freq [0-9]+/--disp-freq 5/
s/(valid|save|sample)Freq=[0-9]+/\1Freq=10/; s/dispFreq([ =])[0-9]+/dispFreq\15/
s/bpe_operations=[0-9]+/bpe_operations=300/; s/--dim-vocabs 32000 32000/--dim-vocabs 400 400/
# Recurrent models in place of Transformers
s/--type transformer/--type s2s/
# Places of tools, which a user has to fill in
s,(nematus|mosesdecoder|subword_nmt)=/path/to/[a-z-]+,\1=$\1,
s,='validate\.sh',='./validate.sh',
s,\.\./nematus/(train|nmt)\.py,$nematus/nematus/\1.py,
# Python 3
s/print (validerr|bestLine)$/print(\1)/; s/conll_sentences\.next\(\)/next(conll_sentences)/
# bash, which records the lines that ran
1s,^#! ?/bin/(sh|bash).*,#!/bin/bash,
