#!/usr/bin/env bash
# A whole experiment on localised documentation: from raw text to a small fast model.
#
#   PAIRS=en-de.tsv.gz GENERAL=DIR [OUT=docs] [SIZE=small] [SOURCE=en] [TARGET=de] [UPDATES=N]
#   [STEPS="base domain ensemble back"] recipes/docs/run.sh [options of cgru train]
#
# PAIRS is made by extract.py. GENERAL is a folder of general text: train, dev and test, each
# .SOURCE and .TARGET, plain or .gz. SIZE is small, base or large. Scores are printed and kept in
# OUT/scores. Run it again after an interruption to resume; finished steps are not repeated.
set -euo pipefail

: "${PAIRS:?the file that extract.py made}" "${GENERAL:?the folder of the general text}"
source=${SOURCE:-en} target=${TARGET:-de} size=${SIZE:-small}
out=${OUT:-docs} steps=${STEPS:-base domain ensemble back}
here=$(cd "$(dirname "$0")" && pwd)

case $size in
  small) embedding=128 state=256 pieces=8000 pairs=60000 updates=${UPDATES:-2000} ;;
  base) embedding=256 state=512 pieces=16000 pairs=0 updates=${UPDATES:-12000} ;;
  large) embedding=512 state=1024 pieces=32000 pairs=0 updates=${UPDATES:-60000} ;;
  *) echo "SIZE=$size: small, base or large is expected" >&2; exit 2 ;;
esac
eighth=$((updates / 8)) half=$((updates / 2))
for tool in cgru python sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

text=$out/text vocabulary=$out/prep/vocab.spm
[ -e "$text/mono.$target" ] || python "$here/split.py" "$PAIRS" "$GENERAL" "$text" -s "$source" \
  -t "$target" --pairs-domain "$pairs" --pairs-general "$pairs"
cgru prep "$out/prep" -s "$text"/train.{domain,general}."$source" \
  -t "$text"/train.{domain,general}."$target" --dev "$text/valid.$source" "$text/valid.$target" \
  --source-lang "$source" --target-lang "$target" --subword-vocabulary "$pieces"

domain=("$text/train.domain.$source" "$text/train.domain.$target")
general=("$text/train.general.$source" "$text/train.general.$target")
valid=("$text/valid.$source" "$text/valid.$target")
more=("$@")

# Train a model: train NAME -t TEXTS... [options of cgru train]
train() {
  local folder=$out/$1
  [ ! -e "$folder/trained" ] || return 0
  echo "run.sh: $1" >&2
  mkdir -p "$folder"
  local sets=(--valid-sets "${valid[@]}")
  [[ " ${*:2} " != *" --valid-sets "* ]] || sets=()
  python "$here/budget.py" run "$folder/clock.tsv" 1000000 \
    cgru train -m "$folder/model.npz" -v "$vocabulary" "$vocabulary" --dim-emb "$embedding" \
    --dim-rnn "$state" --tied-embeddings-all --mini-batch-words 2000 --after "${updates}u" \
    --save-freq "${eighth}u" --keep 3 ${sets[@]+"${sets[@]}"} "${@:2}" \
    ${more[@]+"${more[@]}"}
  tail -n 1 "$folder/clock.tsv" | cut -f 2 > "$folder/trained"
}

# Write a file unless that is done: make FILE COMMAND..., with the command's standard output
make_file() {
  [ -e "$1" ] || { "${@:2}" > "$1.part" && mv "$1.part" "$1"; }
}

# Score a translation: score NAME TEST, of OUT/NAME.TEST.TARGET
score() {
  mkdir -p "$out/scores"
  make_file "$out/scores/$1.$2.json" \
    sacrebleu "$text/$2.$target" -i "$out/$1.$2.$target" -m bleu chrf --confidence -f json
}

# Translate both test sets and score them: evaluate NAME MODEL... [-- options of cgru translate]
evaluate() {
  local name=$1 models=() test
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do models+=("$1"); shift; done
  for test in test.domain test.general; do
    make_file "$out/$name.$test.$target" cgru translate -m "${models[@]}" -k 4 -n 1 \
      --max-length-factor 2 --quiet -i "$text/$test.$source" "${@:2}"
    score "$name" "$test"
  done
}

# The saved models that --keep kept of a model: kept NAME
kept() { compgen -G "$out/$1/model.npz.u*[0-9].npz" | sort -V; }

base=$out/base/model.npz
for step in $steps; do
  case $step in
    base)
      train base -t "${domain[@]}"
      evaluate base "$base"
      ;;
    domain) # general text only, both, and general text then the domain
      train general -t "${general[@]}"
      train both -t "${domain[0]}" "${general[0]}" "${domain[1]}" "${general[1]}"
      train tuned -t "${domain[@]}" --pretrained-model "$out/general/model.npz" \
        --after "${half}u"
      for name in general both tuned; do evaluate "$name" "$out/$name/model.npz"; done
      ;;
    ensemble) # of the last saved models, and of two seeds; the latter reranked from right to left
      train seed2 -t "${domain[@]}" --seed 2
      train right-left -t "${domain[@]}" --right-left
      mapfile -t models < <(kept base)
      evaluate ensemble-saved "${models[@]}"
      evaluate ensemble-seeds "$base" "$out/seed2/model.npz"
      for test in test.domain test.general; do
        make_file "$out/nbest.$test" cgru translate -m "$base" "$out/seed2/model.npz" -k 8 \
          --n-best -n 1 --max-length-factor 2 --quiet -i "$text/$test.$source"
        make_file "$out/reranked.$test.$target" cgru score -m "$out/right-left/model.npz" \
          -s "$text/$test.$source" --n-best "$out/nbest.$test" --normalize 1 --rerank --quiet
        score reranked "$test"
      done
      ;;
    back) # the target side of held-out documents, translated back
      train reverse -t "${domain[1]}" "${domain[0]}" --valid-sets "${valid[1]}" "${valid[0]}"
      make_file "$out/back.sampled.$source" cgru translate -m "$out/reverse/model.npz" \
        --output-sampling full --max-length-factor 2 --quiet -i "$text/mono.$target"
      make_file "$out/back.beam.$source" cgru translate -m "$out/reverse/model.npz" -k 4 -n 1 \
        --max-length-factor 2 --quiet -i "$text/mono.$target"
      for search in sampled beam; do
        train "back-$search" -t "${domain[0]}" "$out/back.$search.$source" \
          "${domain[1]}" "$text/mono.$target"
        evaluate "back-$search" "$out/back-$search/model.npz"
      done
      ;;
    *) echo "STEPS: $step is not known" >&2; exit 2 ;;
  esac
done

python "$here/table.py" "$out"
