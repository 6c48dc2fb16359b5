#!/usr/bin/env bash
# Edinburgh's systems of WMT16: a large cGRU, the average of its last checkpoints, and their
# ensemble.
#
#   DATA=DIR [OUT=wmt16] [SOURCE=en] [TARGET=de] [SEARCH="beam-search"] [TAG=WORD]
#   recipes/wmt16/run.sh [options of cgru train]
#   SAMPLE=1 [DATA=DIR] recipes/wmt16/run.sh        all steps in minutes, on a small model
#
# DATA holds raw text, one sentence per line, plain or .gz: train.en and train.de (or several,
# train.NAME.en and .de), dev.en and dev.de, test.en and test.de. If it has mono.de, a model of the
# reverse direction is trained first and translates it back with SEARCH (--output-sampling of cgru
# translate), with TAG before each source. Run it again after an interruption to resume. Needs: pip
# install '.[prep]', and '.[recipes]' for a sample without DATA.
set -euo pipefail

source=${SOURCE:-en} target=${TARGET:-de} sample=${SAMPLE:-}
out=${OUT:-wmt16${sample:+-sample}}
search=${SEARCH:-full} tag=${TAG:-}
data=${DATA:-}
here=$(cd "$(dirname "$0")" && pwd)

for tool in cgru python sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done
if [ -z "$data" ]; then
  [ -n "$sample" ] || { echo "DATA=DIR names the folder of the corpus, or SAMPLE=1" >&2; exit 2; }
  data=$out/data
  [ -e "$data/train.$target" ] ||
    python "$here/../quickstart/data.py" "$data" -s "$source" -t "$target"
fi

# Print the file of a text, plain or gzipped: file NAME LANGUAGE
file() {
  local path
  for path in "$data/$1.$2" "$data/$1.$2.gz"; do
    [ ! -e "$path" ] || { echo "$path"; return; }
  done
  echo "$data/$1.$2: no such file, nor with .gz" >&2
  return 1
}

sources=() targets=()
for path in "$data"/train{,.*}."$source"{,.gz}; do
  [ -e "$path" ] || continue
  name=${path%.gz} name=${name%".$source"}
  sources+=("$path")
  targets+=("$(file "${name##*/}" "$target")")
done
[ "${#sources[@]}" -gt 0 ] || { echo "$data: no train.$source in it" >&2; exit 1; }
dev=() test=()
for language in "$source" "$target"; do  # one at a time, so that a missing file ends the script
  dev+=("$(file dev "$language")")
  test+=("$(file test "$language")")
done
mono=
for path in "$data/mono.$target"{,.gz}; do [ ! -e "$path" ] || mono=$path; done

# Copy the first lines of a text, unless that has been done: sample_of LINES FILE NAME
sample_of() {
  [ ! -e "$out/sample/$3" ] || return 0
  # Not `head`, because gzip would fail when it closes the pipe.
  if [[ $2 = *.gz ]]; then gzip -dc "$2"; else cat "$2"; fi |
    awk -v lines="$1" 'NR <= lines' > "$out/sample/$3.part"
  mv "$out/sample/$3.part" "$out/sample/$3"
}

if [ -n "$sample" ]; then
  mkdir -p "$out/sample"
  sample_of 10000 "${sources[0]}" "train.$source"
  sample_of 10000 "${targets[0]}" "train.$target"
  sample_of 200 "${dev[0]}" "dev.$source"
  sample_of 200 "${dev[1]}" "dev.$target"
  sample_of 200 "${test[0]}" "test.$source"
  sample_of 200 "${test[1]}" "test.$target"
  if [ -n "$mono" ]; then
    sample_of 10000 "$mono" "mono.$target"
    mono=$out/sample/mono.$target
  fi
  data=$out/sample
  sources=("$data/train.$source") targets=("$data/train.$target")
  dev=("$data/dev.$source" "$data/dev.$target") test=("$data/test.$source" "$data/test.$target")
  merges=2000
  options=(--defaults fixed --dim-emb 64 --dim-rnn 128 --optimizer adam --learn-rate 0.004
    --disp-freq 50u --valid-freq 200u --save-freq 20u --beam-size 3 --after 600u)
else
  merges=89500
  options=(--defaults fixed --dim-emb 512 --dim-rnn 1024 --optimizer adadelta --learn-rate 1
    --disp-freq 1000u --valid-freq 10000u --save-freq 30000u --beam-size 12 --early-stopping 10)
fi
# Romanian has little text, so dropout helps; Edinburgh used none for the other languages.
if [[ $source = ro || $target = ro ]]; then
  options+=(--dropout-embedding 0.2 --dropout-hidden 0.2 --dropout-source 0.1 --dropout-target 0.1)
fi

# Prepare a folder: prepare FOLDER TEXTS...
prepare() {
  cgru prep "$@" --normalize-punctuation --tokenize --escape --split-hyphens --truecase \
    --max-length 80 --keep-duplicates --keep-identical --subwords subword-nmt \
    --subword-vocabulary "$merges" --vocabulary-size 90000
}

# Add the target text and its back-translation as another corpus.
if [ -n "$mono" ]; then
  back=$out/back
  found=$back/$search.$source  # complete
  if [ ! -e "$found" ]; then
    prepare "$back/prep" -s "${targets[@]}" -t "${sources[@]}" --dev "${dev[1]}" "${dev[0]}" \
      --source-lang "$target" --target-lang "$source"
    cgru train "$back/prep" -m "$back/model/model.npz" --mini-batch 80 --max-length 50 \
      --clip-norm 1 --valid-metrics bleu --normalize 1 "${options[@]}" "$@"
    model=$back/model/model.npz.best-bleu.npz
    [ -e "$model" ] || model=$back/model/model.npz
    translated=$back/translated.$search  # by its search, so that another one does not continue it
    if [ "$search" = beam-search ]; then
      cgru translate -m "$model" -k 5 -n 1 -i "$mono" -o "$translated" --resume
    else
      cgru translate -m "$model" --output-sampling "$search" -i "$mono" -o "$translated" --resume
    fi
    mv "$translated" "$found"
  fi
  # Made again each time, so that cgru prep refuses another SEARCH or TAG for the same OUT.
  before=${tag:+$tag } awk '{ print ENVIRON["before"] $0 }' "$found" > "$back/text.part"
  mv "$back/text.part" "$back/text.$source"
  sources+=("$back/text.$source") targets+=("$mono")
fi

prepare "$out/prep" -s "${sources[@]}" -t "${targets[@]}" --dev "${dev[@]}" --test "${test[@]}" \
  --source-lang "$source" --target-lang "$target"

cgru train "$out/prep" -m "$out/model/model.npz" --mini-batch 80 --max-length 50 --clip-norm 1 \
  --valid-metrics bleu cross-entropy --normalize 1 --keep 4 "${options[@]}" "$@"

# The checkpoints kept by --keep, the newest last.
model=$out/model/model.npz
kept=()
while read -r path; do
  kept+=("$path")
done < <(compgen -G "$model.u*.npz" | sort -V)
[ "${#kept[@]}" -gt 0 ] || kept=("$model")
single=$model.best-bleu.npz
[ -e "$single" ] || single=$model # training ended before its first validation

average=$out/model/average.npz
if [ "${#kept[@]}" -gt 1 ]; then
  [ "$average" -nt "${kept[${#kept[@]} - 1]}" ] ||
    cgru convert "${kept[0]}" "$average" --average "${kept[@]:1}" --force
else
  average=${kept[0]}
fi

# Translate the test set and score it: evaluate NAME MODEL..., the newest last
evaluate() {
  local translation=$out/test.$1.$target newest=${*: -1} models=("${@:2}")
  if [ ! "$translation" -nt "$newest" ]; then
    cgru translate -m "${models[@]}" -k 12 -n 1 -i "${test[0]}" -o "$translation.part"
    mv "$translation.part" "$translation"
  fi
  printf '%-10s' "$1"
  sacrebleu "$out/prep/test.ref" -i "$translation" -m bleu -w 1 -f text
}

printf '\nBLEU on the test set, detokenised:\n'
evaluate single "$single"
evaluate average "$average"
evaluate ensemble "${kept[@]}"
