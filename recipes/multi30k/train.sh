#!/usr/bin/env bash
# Multi30k en-de, text only: train a cGRU of the size of the published one, and score it.
#
#   DATA=DIR [OUT=multi30k] [SEEDS="1 2 3"] [SETUP=base|large] recipes/multi30k/train.sh
#                                                     [options of cgru train]
#
# DATA holds raw text, a sentence a line: train, val, test_2016_flickr and test_2017_flickr, each
# .en.gz and .de.gz. Run it again after an interruption and it goes on. BLEU is of lower-cased
# tokens, as the published figures are. Needs: pip install '.[prep]'
set -euo pipefail

: "${DATA:?the folder of the corpus, as DATA=multi30k}"
out=${OUT:-multi30k} seeds=${SEEDS:-1 2 3} setup=${SETUP:-base}

for tool in cgru sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

cgru prep "$out/prep" -s "$DATA/train.en.gz" -t "$DATA/train.de.gz" \
  --dev "$DATA/val.en.gz" "$DATA/val.de.gz" \
  --test "$DATA/test_2016_flickr.en.gz" "$DATA/test_2016_flickr.de.gz" \
  --test "$DATA/test_2017_flickr.en.gz" "$DATA/test_2017_flickr.de.gz" \
  --source-lang en --target-lang de --normalize-punctuation --tokenize --lowercase \
  --subwords subword-nmt --subword-vocabulary 10000
tr '[:upper:]ÄÖÜ' '[:lower:]äöü' < "$out/prep/dev.ref" > "$out/dev.lower.part"
mv "$out/dev.lower.part" "$out/dev.lower"

case $setup in
  base) options=(--dim-emb 128 --dim-rnn 256) ;;
  large) options=(--dim-emb 256 --dim-rnn 512 --tied-embeddings --label-smoothing 0.1) ;;
  *) echo "SETUP=$setup: base or large is expected" >&2; exit 2 ;;
esac

for seed in $seeds; do
  run=$out/$setup/seed$seed
  cgru train "$out/prep" -m "$run/model.npz" "${options[@]}" --seed "$seed" \
    --mini-batch 64 --max-length 60 --learn-rate 0.0008 --clip-norm 1 \
    --dropout-embedding 0.3 --dropout-annotation 0.4 --dropout-output 0.5 \
    --exponential-smoothing 0.001 --valid-metrics bleu cross-entropy --valid-freq 1e \
    --valid-reference "$out/dev.lower" -b 3 --early-stopping 8 --after-epochs 40 "$@"
  for test in 1:test2016 2:test2017; do
    name=${test#*:} number=${test%%:*}
    # the words as they were prepared, but for the sub-words: what the published figures compare
    cgru translate -m "$run/model.npz.best-bleu.npz" --no-preprocess --join-bpe -k 12 -n 1 \
      < "$out/prep/test$number.src" > "$run/$name.out.part"
    mv "$run/$name.out.part" "$run/$name.out"
    cgru prep --apply "$out/prep" --side target --words < "$out/prep/test$number.ref" > "$run/$name.tok"
    printf 'seed %s %s tokenised, lower-cased: ' "$seed" "$name"
    sacrebleu "$run/$name.tok" -i "$run/$name.out" --tokenize none -b -w 2 --force
  done
done
