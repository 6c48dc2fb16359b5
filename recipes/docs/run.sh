#!/usr/bin/env bash
# A whole experiment on localised documentation: from raw text to a small fast model.
#
#   PAIRS=en-de.tsv.gz GENERAL=DIR [OUT=docs] [SIZE=small] [SOURCE=en] [TARGET=de] [UPDATES=N]
#   [SEEDS=2] [STUDENTS="student student-sentence student-word"] [STUDENT_UPDATES=N]
#   [PRECISION=int8] [STEPS="base domain ensemble back distill noise analysis"]
#   recipes/docs/run.sh [options of cgru train]
#
# PAIRS is made by extract.py. GENERAL is a folder of general text: train, dev and test, each
# .SOURCE and .TARGET, plain or .gz. SIZE is small, base or large. Scores are printed and kept in
# OUT/scores. Run it again after an interruption to resume; finished trainings are not repeated.
set -euo pipefail

: "${PAIRS:?the file that extract.py made}" "${GENERAL:?the folder of the general text}"
source=${SOURCE:-en} target=${TARGET:-de} size=${SIZE:-small}
out=${OUT:-docs} seeds=${SEEDS:-2} students=${STUDENTS:-student student-sentence student-word}
steps=${STEPS:-base domain ensemble back distill noise analysis}
here=$(cd "$(dirname "$0")" && pwd)

case $size in
  small) embedding=128 state=256 student=(48 112) pieces=8000 pairs=60000 default=3000 ;;
  base) embedding=256 state=512 student=(96 224) pieces=16000 pairs=0 default=6000 ;;
  large) embedding=512 state=1024 student=(192 448) pieces=32000 pairs=0 default=30000
    set -- --mini-batch-words 4000 "$@" ;;
  *) echo "SIZE=$size: small, base or large is expected" >&2; exit 2 ;;
esac
for step in $steps; do
  case $step in
    base | domain | ensemble | back | distill | noise | analysis) ;;
    *) echo "STEPS: $step is not known" >&2; exit 2 ;;
  esac
done
for name in $students; do
  case $name in
    student | student-sentence | student-word) ;;
    *) echo "STUDENTS: $name is not known" >&2; exit 2 ;;
  esac
done
updates=${UPDATES:-$default} half=$((updates / 2))
student_updates=${STUDENT_UPDATES:-$((2 * updates))}
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
  local folder=$out/$1 eighth=$((updates / 8))
  [ ! -e "$folder/trained" ] || return 0
  echo "run.sh: $1" >&2
  mkdir -p "$folder"
  local sets=(--valid-sets "${valid[@]}")
  [[ " ${*:2} " != *" --valid-sets "* ]] || sets=()
  python "$here/budget.py" run "$folder/clock.tsv" 1000000 \
    cgru train -m "$folder/model.npz" -v "$vocabulary" "$vocabulary" --dim-emb "$embedding" \
    --dim-rnn "$state" --tied-embeddings-all --after "${updates}u" \
    --save-freq "${eighth}u" --keep 3 ${sets[@]+"${sets[@]}"} "${@:2}" \
    ${more[@]+"${more[@]}"}
  tail -n 1 "$folder/clock.tsv" | cut -f 2 > "$folder/trained.part"
  mv "$folder/trained.part" "$folder/trained"
}

# Train `base` with other seeds; sets `models`, with `base` as the first.
train_seeds() {
  local seed
  models=("$base")
  for ((seed = 2; seed <= seeds; seed++)); do
    train "seed$seed" -t "${domain[@]}" --seed "$seed"
    models+=("$out/seed$seed/model.npz")
  done
}

# Whether a file is missing, or older than one of the others: outdated FILE OTHER...
outdated() {
  local other
  [ -e "$1" ] || return 0
  for other in "${@:2}"; do [ ! "$other" -nt "$1" ] || return 0; done
  return 1
}

# Write a command's standard output to a file, unless that is newer than the files that the command
# names: make_file FILE COMMAND...
make_file() {
  ! outdated "$1" "${@:3}" || { "${@:2}" > "$1.part" && mv "$1.part" "$1"; }
}

# Score a translation: score NAME TEST, of OUT/NAME.TEST.TARGET
score() {
  mkdir -p "$out/scores"
  make_file "$out/scores/$1.$2.json" \
    sacrebleu "$text/$2.$target" -i "$out/$1.$2.$target" -l "$source-$target" -m bleu chrf \
    --confidence -f json
}

# Translate a test set and score that: evaluate_on TEST NAME MODEL...
evaluate_on() {
  make_file "$out/$2.$1.$target" cgru translate -m "${@:3}" -k 4 -n 1 --max-length-factor 2 \
    --quiet -i "$text/$1.$source"
  score "$2" "$1"
}

# Both test sets: evaluate NAME MODEL...
evaluate() { evaluate_on test.domain "$@"; evaluate_on test.general "$@"; }

# The saved models that --keep kept of a model: kept NAME
kept() { compgen -G "$out/$1/model.npz.u*[0-9].npz" | sort -V; }

# Train a model of a quarter of the parameters, as train does: student NAME -t TEXTS...
# An update takes less than half of the time of a teacher's, so there are twice as many of them.
student() { embedding=${student[0]} state=${student[1]} updates=$student_updates train "$@"; }

# Translate test.domain and print the speed: speed NAME MODEL [options of speed.py]
speed() {
  ! outdated "$out/speed/$1.tsv" "$2" || {
    mkdir -p "$out/speed"
    python "$here/speed.py" "$1" "$2" "$text/test.domain.$source" \
      "$out/$1.test.domain.$target" "${@:3}" > "$out/speed/$1.part"
    mv "$out/speed/$1.part" "$out/speed/$1.tsv"
  }
  score "$1" test.domain
}

base=$out/base/model.npz
for step in $steps; do
  case $step in
    ensemble | distill | noise)
      [ -e "$out/base/trained" ] || { echo "$step: run the step base first" >&2; exit 1; }
      ;;
  esac
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
    ensemble) # of the last saved models, and of all seeds; the latter reranked from right to left
      train right-left -t "${domain[@]}" --right-left
      models=()
      while read -r model; do models+=("$model"); done < <(kept base)
      evaluate ensemble-saved "${models[@]}"
      train_seeds
      evaluate ensemble-seeds "${models[@]}"
      for test in test.domain test.general; do
        make_file "$out/nbest.$test" cgru translate -m "${models[@]}" -k 8 --n-best -n 1 \
          --max-length-factor 2 --quiet -i "$text/$test.$source"
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
    distill) # the seeds teach a model of a quarter of the parameters: by sentences, and by words
      train_seeds
      translations=("$out/base.test.domain.$target") taught=("${domain[0]}" "$out/taught.$target")
      for name in $students; do
        case $name in
          student) student "$name" -t "${domain[@]}" ;;
          student-sentence)
            if outdated "${taught[1]}" "${models[@]}"; then
              ! outdated "$out/taught.nbest" "${models[@]}" || rm -f "$out/taught.nbest"
              cgru translate -m "${models[@]}" -k 4 --n-best -n 1 --max-length-factor 2 \
                --mini-batch 128 --precision "${PRECISION:-int8}" -i "${domain[0]}" --resume \
                -o "$out/taught.nbest"
            fi
            make_file "${taught[1]}" cgru score --n-best "$out/taught.nbest" --oracle bleu \
              -r "${domain[1]}"
            student "$name" -t "${taught[@]}"
            ;;
          student-word)
            ! outdated "$out/teacher.npy" "${models[@]}" ||
              cgru score -m "${models[@]}" --ensemble -s "${domain[0]}" -t "${domain[1]}" \
                --word-top-k 8 -o "$out/teacher.npy"
            student "$name" -t "${domain[@]}" --objective distill --teacher "$out/teacher.npy"
            ;;
        esac
        evaluate "$name" "$out/$name/model.npz"
        translations+=("$out/$name.test.domain.$target")
      done
      make_file "$out/distill.txt" cgru score --metric bleu,chrf --paired bootstrap \
        -t "${translations[@]}" --reference "$text/test.domain.$target"
      [ "${#translations[@]}" -lt 3 ] ||
        make_file "$out/distill-student.txt" cgru score --metric bleu,chrf --paired bootstrap \
          -t "${translations[@]:1}" --reference "$text/test.domain.$target"
      [[ " $students " == *" student-sentence "* ]] || continue
      small=$out/student-sentence/model lexicon=$out/shortlist
      for side in 0 1; do
        make_file "$lexicon.$side" python "$here/pieces.py" "$vocabulary" "${taught[$side]}"
      done
      ! outdated "$lexicon/alignments" "$small.npz" "$lexicon".{0,1} ||
        rm -f "$lexicon/alignments"
      SOURCE=$lexicon.0 TARGET=$lexicon.1 MODEL=$small.npz OUT=$lexicon "$here/../shortlist/make.sh"
      ! outdated "$small.onnx" "$small.npz" ||
        cgru convert "$small.npz" "$small.onnx" --precision int8 --force
      speed base-float32 "$base"
      speed student-float32 "$small.npz"
      speed student-int8 "$small.npz" --precision int8 --shortlist "$lexicon/lex.s2t"
      speed student-onnx "$small.onnx"
      speed student-onnx-shortlist "$small.onnx" --shortlist "$lexicon/lex.s2t"
      speed student-greedy "$small.onnx" --shortlist "$lexicon/lex.s2t" --beam-size 1
      cat "$out"/speed/*.tsv
      ;;
    noise) # of users' texts: upper case, typos, no full stop, three sentences in a line
      [ -e "$text/test.domain-joined.$target" ] ||
        python "$here/noise.py" "$text" test.domain "$source" "$target"
      train noise -t "${domain[@]}" --all-caps-every 10 --typos-every 5 --no-full-stop-every 10 \
        --join-every 10
      evaluate noise "$out/noise/model.npz"
      for test in test.domain-{caps,typos,no-stop,joined}; do
        evaluate_on "$test" base "$base"
        evaluate_on "$test" noise "$out/noise/model.npz"
      done
      ;;
    analysis) # by length, by rare words, and the numbers and names that are kept
      systems=()
      for name in base both tuned ensemble-seeds student-sentence; do
        translation=$out/$name.test.domain.$target
        [ ! -e "$translation" ] || systems+=("$name=$translation")
      done
      [ "${#systems[@]}" -gt 0 ] || { echo "analysis: run the step base first" >&2; exit 1; }
      python "$here/analysis.py" "$text/test.domain" "$text/train.domain" "${systems[@]}" \
        -s "$source" -t "$target"
      ;;
  esac
done

python "$here/table.py" "$out"
