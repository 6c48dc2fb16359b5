#!/usr/bin/env bash
# The ladder on Multi30k en-de: all recurrent models at equal numbers of parameters and updates.
#
#   DATA=DIR [OUT=ladder] [PREP=OUT/prep] [MODELS="encdec-rnn ..."] [SEEDS="1 2"]
#   [UPDATES=2500] [EMBEDDING=64] [STATE=128] [JOBS=2] recipes/ladder/run.sh [options of cgru train]
#
# DATA holds raw text, one sentence per line: train, val, test_2016_flickr and test_2017_flickr,
# each .en.gz and .de.gz. A model is TYPE-CELL; kneser-ney is the n-gram language model. Run it
# again after an interruption to resume. Needs: pip install '.[prep,plot,recipes]'
set -euo pipefail

: "${DATA:?the folder of the corpus, as DATA=data/multi30k}"
out=${OUT:-ladder} seeds=${SEEDS:-1 2} updates=${UPDATES:-2500} jobs=${JOBS:-2}
embedding=${EMBEDDING:-64} state=${STATE:-128}
prep=${PREP:-$out/prep}
models=${MODELS:-kneser-ney lm-rnn lm-gru lm-lstm encdec-rnn encdec-gru encdec-lstm seq2seq-rnn \
seq2seq-gru seq2seq-lstm rnnsearch-rnn rnnsearch-gru rnnsearch-lstm cgru-rnn cgru-gru cgru-lstm}
here=$(cd "$(dirname "$0")" && pwd)

for tool in cgru python; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

# The same as in recipes/multi30k/train.sh; its folder can be used instead.
cgru prep "$prep" -s "$DATA/train.en.gz" -t "$DATA/train.de.gz" \
  --dev "$DATA/val.en.gz" "$DATA/val.de.gz" \
  --test "$DATA/test_2016_flickr.en.gz" "$DATA/test_2016_flickr.de.gz" \
  --test "$DATA/test_2017_flickr.en.gz" "$DATA/test_2017_flickr.de.gz" \
  --source-lang en --target-lang de --normalize-punctuation --tokenize --lowercase \
  --subwords subword-nmt --subword-vocabulary 10000

# Concatenate both test sets; .words holds the words of the references, as counted by BLEU.
mkdir -p "$out"
for side in src trg ref; do
  cat "$prep/test1.$side" "$prep/test2.$side" > "$out/test.$side"
done
if [ ! -e "$out/test.words" ]; then
  cgru prep --apply "$prep" --side target --words < "$out/test.ref" > "$out/test.part"
  mv "$out/test.part" "$out/test.words"
fi

read -ra names <<< "$models"
python "$here/sizes.py" "$prep" "$out" --embedding "$embedding" --state "$state" "${names[@]}"

for name in "${names[@]}"; do
  if [ "$name" != kneser-ney ]; then
    for seed in $seeds; do
      printf '%s\0' "$name $seed"
    done
  elif [ ! -e "$out/kneser-ney.json" ]; then
    python "$here/kneser_ney.py" "$prep" "$out/test.trg" --output "$out/kneser-ney.json"
  fi
done > "$out/runs"
# Train $jobs models at a time, one core each.
xargs -0 -P "$jobs" -I '{}' "$here/train_model.sh" '{}' "$prep" "$out" "$updates" "$@" < "$out/runs"

python "$here/table.py" "$out" --seeds "$seeds" --updates "$updates" "${names[@]}"
