#!/usr/bin/env bash
# Fine-tune a general model on software texts, with and without a MAP-L2 penalty.
#
#   GENERAL=DIR [DATA=it-docs/data] [OUT=it-adapt] [SOURCE=en] [TARGET=de] [UPDATES=6000]
#   [MORE=1500] [PRIORS="0 0.01"] recipes/it-docs/adapt.sh [options of cgru train]
#
# GENERAL and DATA hold raw text, one sentence per line, plain or .gz: train, dev and test, each
# .SOURCE and .TARGET; run.sh makes DATA. Run it again after an interruption to resume.
set -euo pipefail

: "${GENERAL:?the folder of the general text}"
source=${SOURCE:-en} target=${TARGET:-de}
data=${DATA:-it-docs/data} out=${OUT:-it-adapt}
updates=${UPDATES:-6000} more=${MORE:-1500} priors=${PRIORS:-0 0.01}

for tool in cgru sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

# Print the file of a text, plain or gzipped: file FOLDER NAME LANGUAGE
file() {
  local path
  for path in "$1/$2.$3" "$1/$2.$3.gz"; do
    [ ! -e "$path" ] || { echo "$path"; return; }
  done
  echo "$1/$2.$3: no such file, nor with .gz" >&2
  return 1
}

plain() { case $1 in *.gz) gzip -dc "$1" ;; *) cat "$1" ;; esac; }

# Name the files here, so that a missing one ends the script.
general=() software=()
for name in train dev test; do
  for language in "$source" "$target"; do
    general+=("$(file "$GENERAL" "$name" "$language")")
    [ "$name" = dev ] || software+=("$(file "$data" "$name" "$language")")
  done
done

cgru prep "$out/prep" -s "${general[0]}" -t "${general[1]}" --dev "${general[2]}" "${general[3]}" \
  --test "${general[4]}" "${general[5]}" --source-lang "$source" --target-lang "$target" \
  --subwords bpe --subword-vocabulary 8000

mkdir -p "$out/text"
if [ ! -e "$out/text/train.target" ]; then
  plain "${software[0]}" | cgru prep --apply "$out/prep" --side source > "$out/text/train.source"
  plain "${software[1]}" | cgru prep --apply "$out/prep" --side target > "$out/text/train.part"
  plain "${software[2]}" > "$out/text/test.source"
  plain "${software[3]}" > "$out/text/test.target"
  mv "$out/text/train.part" "$out/text/train.target"
fi

options=(--defaults fixed --mini-batch 64
  --dropout-embedding 0.2 --dropout-annotation 0.2 --dropout-output 0.3
  --exponential-smoothing 0.001 --valid-freq 0 --save-freq 500u --disp-freq 100u)
cgru train "$out/prep" -m "$out/general/model.npz" --dim-emb 128 --dim-rnn 256 \
  --learn-rate 0.001 --after "${updates}u" "${options[@]}" "$@"

# Translate a test set and score it: score NAME DOMAIN SOURCE REFERENCE
score() {
  local model=$out/$1/model.npz translation=$out/$1/test.$2
  if [ ! "$translation" -nt "$model" ]; then
    # In $(score ..), bash ignores -e.
    cgru translate -m "$model" -k 5 -n 1 < "$3" > "$translation.part" || return
    mv "$translation.part" "$translation"
  fi
  sacrebleu "$4" -i "$translation" -m bleu -b -w 1
}

# Print a row of the table: row NAME
row() {
  local of_general of_software
  of_general=$(score "$1" general "$out/prep/test.raw" "$out/prep/test.ref")
  of_software=$(score "$1" software "$out/text/test.source" "$out/text/test.target")
  echo "| $1 | $of_general | $of_software |"
}

for prior in $priors; do
  cgru train -t "$out/text/train.source" "$out/text/train.target" -m "$out/prior-$prior/model.npz" \
    --pretrained-model "$out/general/model.npz" --prior-model "$out/general/model.npz" \
    --map-decay-c "$prior" --learn-rate 0.0003 --after "${more}u" "${options[@]}" "$@"
done

printf '| model | BLEU of general text | BLEU of software |\n|---|---|---|\n'
row general
for prior in $priors; do row "prior-$prior"; done
