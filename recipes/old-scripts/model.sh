#!/usr/bin/env bash
# Train small models like Edinburgh's of WMT16, which translating-amun downloads.
#
#   recipes/old-scripts/model.sh TEXT OUT SOURCE TARGET
#
# run.sh starts it if DATA has no folder of the models' name. TEXT holds train.SOURCE and
# train.TARGET. OUT gets the files of http://data.statmt.org/rsennrich/wmt16_systems: a model, four
# for an ensemble, vocabularies, merges and truecasing models.
set -euo pipefail

text=$1 out=$2 source=$3 target=$4
mkdir -p "$out"
for language in "$source" "$target"; do
  "$mosesdecoder/scripts/tokenizer/normalize-punctuation.perl" -l "$language" \
    < "$text/train.$language" |
    "$mosesdecoder/scripts/tokenizer/tokenizer.perl" -l "$language" -penn > "$text/tok.$language"
  "$mosesdecoder/scripts/recaser/train-truecaser.perl" -corpus "$text/tok.$language" \
    -model "$out/truecase-model.$language"
  "$mosesdecoder/scripts/recaser/truecase.perl" -model "$out/truecase-model.$language" \
    < "$text/tok.$language" > "$text/true.$language"
done
cat "$text/true.$source" "$text/true.$target" |
  "$subword_nmt/learn_bpe.py" -s 300 > "$out/$source$target.bpe"
for language in "$source" "$target"; do
  "$subword_nmt/apply_bpe.py" -c "$out/$source$target.bpe" \
    < "$text/true.$language" > "$text/bpe.$language"
done
cgru prep --vocabulary-only --compat nematus "$text/bpe.$source" "$text/bpe.$target"
cp "$text/bpe.$source.json" "$out/vocab.$source.json"
cp "$text/bpe.$target.json" "$out/vocab.$target.json"
cgru train --train-sets "$text/bpe.$source" "$text/bpe.$target" -m "$text/model.npz" \
  --vocabs "$out/vocab.$source.json" "$out/vocab.$target.json" --dim-emb 16 --dim-rnn 32 \
  --defaults fixed --optimizer adam --learn-rate 0.005 --save-freq 10u --keep 4 --after 40u
cp "$text/model.npz" "$out/model.npz"
number=0
for model in "$text"/model.npz.u*.npz; do
  number=$((number + 1))
  cp "$model" "$out/model-ens$number.npz"
done
