#!/usr/bin/env bash
# Compare learning rates that fall to 0 at the end of training, and sizes, at equal CPU time.
#
#   PREP=DIR VALID=PREFIX TEST=PREFIX [OUT=schedules] [SIZES="256/512"] [UPDATES="450 1350"]
#   [SCHEDULES="off linear late"] [SEEDS=1] [SOURCE=en] [TARGET=de]
#   recipes/docs/schedules.sh [OPTIONS OF cgru train]
#
# PREP is a folder of cgru prep; VALID and TEST name raw text, without .SOURCE and .TARGET. Each
# combination trains on one thread for so many updates, with one value of --lr-decay-to-end. The
# BLEU of its averaged weights and of its last weights goes to OUT/schedules.tsv. Choose by the
# validation lines. Run it again after an interruption to resume.
set -euo pipefail

: "${PREP:?the folder of cgru prep}" "${VALID:?raw validation text}" "${TEST:?raw test text}"
out=${OUT:-schedules} source=${SOURCE:-en} target=${TARGET:-de}
here=$(cd "$(dirname "$0")" && pwd)
for tool in cgru python sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

# Translate both sets and print their BLEU: evaluate MODEL
evaluate() {
  local set
  for set in "$VALID" "$TEST"; do
    cgru translate -m "$1" -i "$set.$source" -o "$1.$(basename "$set").$target" --cpu-threads 1 \
      --quiet
    sacrebleu "$set.$target" -i "$1.$(basename "$set").$target" -b -w 1
  done | paste -s -
}

cell() { # cell SIZE SCHEDULE UPDATES SEED [OPTIONS]
  local folder=$out/${1/\//-}-$2-$3-$4 size=$1 schedule=$2 updates=$3 seed=$4
  shift 4
  [ ! -e "$folder/scores.tsv" ] || return 0
  mkdir -p "$folder"
  cgru train "$PREP" -m "$folder/model.npz" --dim-emb "${size%/*}" --dim-rnn "${size#*/}" \
    --lr-decay-to-end "$schedule" --after "${updates}u" --valid-freq 0 \
    --seed "$seed" --cpu-threads 1 --save-freq 100u --quiet "$@"
  python "$here/last_weights.py" "$folder/model.npz" "$folder/last.npz"
  for weights in model last; do
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$size" "$schedule" "$updates" "$seed" \
      "${weights/model/averaged}" "$(evaluate "$folder/$weights.npz")"
  done > "$folder/part"
  mv "$folder/part" "$folder/scores.tsv"
}

for size in ${SIZES:-256/512}; do
  for updates in ${UPDATES:-450 1350}; do
    for schedule in ${SCHEDULES:-off linear late}; do
      for seed in ${SEEDS:-1}; do
        cell "$size" "$schedule" "$updates" "$seed" "$@"
      done
    done
  done
done
{
  printf 'size\tschedule\tupdates\tseed\tweights\tvalid\ttest\n'
  cat "$out"/*/scores.tsv
} | tee "$out/schedules.tsv"
