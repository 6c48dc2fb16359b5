#!/usr/bin/env bash
# Multi30k, text only: train and score a cGRU with the size of the published one.
#
#   DATA=DIR [SOURCE=en] [TARGET=de] [OUT=multi30k] [SETUP=base|large] [SEEDS="1 2 3"] [RISK=1000]
#     recipes/multi30k/train.sh [options of cgru train]
# Each model is trained with cross-entropy, tested, trained further with minimum risk for RISK
# updates (0: not at all), and tested again; finally their ensemble is tested. DATA holds raw text,
# one sentence per line: train, val, test_2016_flickr and test_2017_flickr, each .SOURCE.gz and
# .TARGET.gz; each language pair needs its own OUT. Run it again after an interruption to resume.
# BLEU is computed on lower-cased tokens, like the published figures. Needs: pip install '.[prep]'
set -euo pipefail

: "${DATA:?the folder of the corpus, as DATA=data/multi30k}"
source=${SOURCE:-en} target=${TARGET:-de}
out=${OUT:-multi30k} seeds=${SEEDS:-1 2 3} setup=${SETUP:-base} risk=${RISK:-1000}

for tool in cgru python sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

case $setup in
  base) size=(--dim-emb 128 --dim-rnn 256) ;;
  large) size=(--dim-emb 256 --dim-rnn 512 --tied-embeddings --label-smoothing 0.1) ;;
  *) echo "SETUP=$setup: base or large is expected" >&2; exit 2 ;;
esac

cgru prep "$out/prep" -s "$DATA/train.$source.gz" -t "$DATA/train.$target.gz" \
  --dev "$DATA/val.$source.gz" "$DATA/val.$target.gz" \
  --test "$DATA/test_2016_flickr.$source.gz" "$DATA/test_2016_flickr.$target.gz" \
  --test "$DATA/test_2017_flickr.$source.gz" "$DATA/test_2017_flickr.$target.gz" \
  --source-lang "$source" --target-lang "$target" --normalize-punctuation --tokenize --lowercase \
  --subwords subword-nmt --subword-vocabulary 10000

# The reference for validation of a lower-cased model.
if [ ! -e "$out/dev.lower" ]; then
  python -c 'import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line.decode("utf-8").lower().encode("utf-8"))
' < "$out/prep/dev.ref" > "$out/dev.lower.part"
  mv "$out/dev.lower.part" "$out/dev.lower"
fi

# The words of the references, as counted for the published figures.
for number in 1 2; do
  [ ! -e "$out/test$number.words" ] || continue
  cgru prep --apply "$out/prep" --side target --words \
    < "$out/prep/test$number.ref" > "$out/test$number.part"
  mv "$out/test$number.part" "$out/test$number.words"
done

# Translate both test sets with a model or an ensemble, and print the scores: FOLDER NAME MODEL...
scored() {
  local folder=$1 name=$2 number model bleu old
  shift 2
  mkdir -p "$folder"
  for number in 1 2; do
    old=
    for model in "$@"; do [ "$folder/test$number.words" -nt "$model" ] || old=1; done
    if [ "$old" ]; then
      cgru translate -m "$@" --no-preprocess --join-bpe -k 12 -n 1 \
        < "$out/prep/test$number.src" > "$folder/test$number.part"
      mv "$folder/test$number.part" "$folder/test$number.words"
    fi
    bleu=$(sacrebleu "$out/test$number.words" -i "$folder/test$number.words" --tokenize none -b \
      -w 2 --force)
    printf 'test201%s\t%s\t%s\n' "$((number + 5))" "$name" "$bleu"
  done
}

# The same for the model of a seed, with its training time; the output is kept: RUN MODEL SEED
tested() {
  local run=$1 model=$2 seed=$3
  scored "$run" "$seed" "$model" > "$run/results.tsv"
  # Hours and words per second of all updates, from the last record of the metrics.
  python -c 'import json, sys
last = json.loads(sys.stdin.readlines()[-1])
hours = last["total_seconds"] / 3600
speed = last["words"] / last["total_seconds"]
print("hours", sys.argv[1], f"{hours:.2f}", sep="\t")
print("words/s", sys.argv[1], f"{speed:.0f}", sep="\t")
' "$seed" < "$run/model.npz.metrics.jsonl" >> "$run/results.tsv"
  cat "$run/results.tsv"
}

models=()
for seed in $seeds; do
  run=$out/$setup/seed$seed
  cgru train "$out/prep" -m "$run/model.npz" --seed "$seed" "${size[@]}" --defaults fixed \
    --mini-batch 64 --maxi-batch 20 --max-length 60 --learn-rate 0.0008 \
    --dropout-embedding 0.3 --dropout-annotation 0.4 --dropout-output 0.5 \
    --exponential-smoothing 0.001 --disp-freq 100u --save-freq 1e \
    --valid-freq 2e --valid-metrics bleu cross-entropy --valid-reference "$out/dev.lower" \
    --beam-size 3 --early-stopping 0 --lr-decay 0.6 --lr-decay-strategy epoch \
    --lr-decay-start 31 --after-epochs 37 "$@"
  # There is no best model if training ended before its first validation.
  model=$run/model.npz.best-bleu.npz
  [ -e "$model" ] || model=$run/model.npz
  tested "$run" "$model" "$seed"
  if [ "$risk" -gt 0 ]; then
    run=$out/$setup-risk/seed$seed
    cgru train "$out/prep" -m "$run/model.npz" --seed "$seed" --defaults fixed "$@" \
      --pretrained-model "$model" --objective mrt --mrt-samples 20 --mini-batch 16 \
      --max-length 60 --learn-rate 0.0001 --disp-freq 50u --save-freq 100u --valid-freq 0 \
      --label-smoothing 0 --after "${risk}u"  # minimum risk has no labels to smooth
    model=$run/model.npz
    tested "$run" "$model" "$seed"
  fi
  models+=("$model")
done

# Print the scores of each seed and their mean: NAME, then the results of its runs
summary() {
  printf '\n%s: each seed, and the mean of %s\n' "$1" "$(wc -w <<< "$seeds")"
  awk -F '\t' '
    !($1 in row) { order[++names] = $1 }
    { row[$1] = row[$1] sprintf("%10s", $3); sum[$1] += $3; count[$1]++ }
    END {
      for (i = 1; i <= names; i++) {
        name = order[i]
        printf "%-10s%s   mean %.2f\n", name, row[name], sum[name] / count[name]
      }
    }' "${@:2}"
}

for name in "$setup" "$setup-risk"; do
  [ "$name" = "$setup" ] || [ "$risk" -gt 0 ] || continue
  results=()
  for seed in $seeds; do results+=("$out/$name/seed$seed/results.tsv"); done
  summary "$name" "${results[@]}"
done

if [ "${#models[@]}" -gt 1 ]; then
  printf '\n%s models together\n' "${#models[@]}"
  scored "$out/$setup-together" together "${models[@]}" | cut -f 1,3
fi
