#!/bin/sh
# Trains the models of this folder with Marian (pymarian 1.12.42), and keeps its scores and n-best
# lists. Marian cannot train an encoder of SSRU cells ("Aborting" in its backward pass), so cgru
# trains the model `encoder`, and Marian computes it. Run in this folder.
set -e
python numbers_text.py

outputs() {  # NAME: scores of the pairs, and n-best lists of their sources
    pymarian score -m $1/model.npz -v $1/vocab.en.yml $1/vocab.de.yml -t test.en test.de \
        --cpu-threads 1 --quiet > $1/scores.txt
    pymarian decode -m $1/model.npz -v $1/vocab.en.yml $1/vocab.de.yml -i test.en \
        -o $1/nbest.txt -b 5 --n-best --normalize 1 --max-length-factor 2 --allow-unk \
        --cpu-threads 1 --quiet --quiet-translation
    rm -f $1/*.yml.orig $1/model.npz.*
}

train() {  # NAME OPTION...
    name=$1
    shift
    rm -rf $name
    mkdir $name
    pymarian train --type s2s -m $name/model.npz -t train.en train.de \
        -v $name/vocab.en.yml $name/vocab.de.yml --seed 35 --cpu-threads 1 -w 256 \
        --mini-batch 32 --learn-rate 0.01 --after 70u --quiet --dec-cell-base-depth 1 "$@"
    outputs $name
}

train ssru --dim-emb 24 --dim-rnn 24 --dec-cell ssru --tied-embeddings
train ssru-deep --dim-emb 32 --dim-rnn 32 --dec-cell ssru --enc-cell lstm --enc-type alternating \
    --enc-depth 2 --dec-depth 2 --skip --layer-normalization
train sru --dim-emb 28 --dim-rnn 28 --dec-cell sru --dec-depth 2 --layer-normalization

rm -rf encoder
mkdir encoder
cp ssru/vocab.*.yml encoder
cgru train -m encoder/cgru.npz -t train.en train.de -v encoder/vocab.en.yml encoder/vocab.de.yml \
    --defaults fixed --dim-emb 24 --dim-rnn 24 --cell ssru --dec-cell-base-depth 1 --enc-depth 2 \
    --layer-normalization --normalization-form marian --batch-size 32 --learn-rate 0.01 \
    --after 70u --quiet
cgru convert encoder/cgru.npz encoder/model.npz --to marian-s2s --force
rm -rf encoder/cgru.npz*
outputs encoder
rm -f train.en train.de
