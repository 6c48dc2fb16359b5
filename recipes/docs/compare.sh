#!/usr/bin/env bash
# Compare cgru with Marian's recurrent model and its small transformer, at equal CPU minutes.
#
#   TEXT=DIR [OUT=docs-compare] [SIZE=base] [BUDGET=30m] [SYSTEMS="cgru marian-s2s@0.003 ..."]
#   [SEED=1] [WORDS=1000] [THREADS=2] [POINTS="5 10 20 40 80 120"] [SOURCE=en] [TARGET=de]
#   recipes/docs/compare.sh
#
# TEXT is a folder of split.py. Every system trains in turn on THREADS threads, on the same
# text, sub-words and batches of WORDS, and at another learning rate than its own if that follows
# @; it does not validate. The models that it had after POINTS CPU minutes are kept, and translate
# the same 500 validation lines. Scores go to OUT/compare.tsv and the curve to OUT/compare.svg. With
# a larger BUDGET, the same command continues. Needs pymarian and pip install '.[plot]'.
set -euo pipefail

: "${TEXT:?the folder that split.py made}"
out=${OUT:-docs-compare} size=${SIZE:-base} budget=${BUDGET:-30m} seed=${SEED:-1}
systems=${SYSTEMS:-cgru-defaults cgru cgru-bfloat16 marian-s2s marian-transformer}
words=${WORDS:-1000} threads=${THREADS:-2} points=${POINTS:-5 10 20 40 80 120}
source=${SOURCE:-en} target=${TARGET:-de}
here=$(cd "$(dirname "$0")" && pwd)

case $size in
  small) embedding=128 state=256 pieces=8000 ;;
  base) embedding=256 state=512 pieces=16000 ;;
  *) echo "SIZE=$size: small or base is expected" >&2; exit 2 ;;
esac
case $budget in
  [mh] | *[!0-9]*[mh] | *[!mh])
    echo "BUDGET=$budget: whole minutes or hours are expected, as 30m or 2h" >&2
    exit 2
    ;;
  *m) minutes=${budget%m} ;;
  *h) minutes=$((${budget%h} * 60)) ;;
esac
python -c "import matplotlib" || { echo "pip install '.[plot]'" >&2; exit 1; }
for tool in cgru python pymarian sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

prep=$out/prep vocabulary=$out/prep/vocab.spm
cgru prep "$prep" -s "$TEXT/train.domain.$source" -t "$TEXT/train.domain.$target" \
  --dev "$TEXT/valid.$source" "$TEXT/valid.$target" --subword-vocabulary "$pieces"

batches=(--mini-batch-words "$words" --maxi-batch 100 --max-length 100 --save-freq 25u
  --disp-freq 25u --after-epochs 1000 --seed "$seed" --cpu-threads "$threads" --clip-norm 1
  --label-smoothing 0.1)

# Train a system by its name, within the CPU minutes: train SYSTEM FOLDER
train() {
  local run=(python "$here/budget.py" run "$2/clock.tsv" "$minutes" --points "$points $minutes")
  local marian=() rate=() other=${1#*@}
  [ "$other" = "$1" ] || rate=(--learn-rate "$other")
  marian=("${run[@]}" pymarian train -m "$2/model.npz" -t "$prep/train.src" "$prep/train.trg"
    -v "$vocabulary" "$vocabulary" "${batches[@]}" --tied-embeddings-all --dim-emb "$embedding"
    --cost-type ce-mean-words --optimizer-params 0.9 0.98 1e-9 --exponential-smoothing 0.001
    --sync-sgd --shuffle-in-ram --quiet-translation --log "$2/marian.log" --quiet)
  local cgru=(--dim-emb "$embedding" --dim-rnn "$state" --tied-embeddings-all --learn-rate 0.003
    --lr-warmup 300u --exponential-smoothing 0.001 --dropout-embedding 0 --valid-freq 0)
  case ${1%@*} in
    cgru-defaults)
      "${run[@]}" cgru train "$prep" -m "$2/model.npz" --seed "$seed" --cpu-threads "$threads" \
        --valid-freq 0 --after-epochs 1000 --save-freq 1m --keep 1000 ${rate[@]+"${rate[@]}"}
      ;;
    cgru)
      "${run[@]}" cgru train "$prep" -m "$2/model.npz" "${batches[@]}" "${cgru[@]}" --keep 1000 \
        ${rate[@]+"${rate[@]}"}
      ;;
    cgru-bfloat16)
      "${run[@]}" cgru train "$prep" -m "$2/model.npz" "${batches[@]}" "${cgru[@]}" --keep 1000 \
        --precision bfloat16 ${rate[@]+"${rate[@]}"}
      ;;
    marian-s2s)
      [ ${#rate[@]} -gt 0 ] || rate=(--learn-rate 0.001)
      "${marian[@]}" --type s2s --dim-rnn "$state" "${rate[@]}" --lr-warmup 300u
      ;;
    marian-transformer)
      [ ${#rate[@]} -gt 0 ] || rate=(--learn-rate 0.0005)
      "${marian[@]}" --type transformer --enc-depth 4 --dec-depth 2 --transformer-heads 8 \
        --transformer-dim-ffn "$((4 * embedding))" --transformer-dropout 0.1 \
        "${rate[@]}" --lr-warmup 1000u --lr-decay-inv-sqrt 1000u
      ;;
    *) echo "SYSTEMS: $1 is not known" >&2; exit 2 ;;
  esac
}

# Translate the validation lines and compute the cross-entropy: evaluate SYSTEM MODEL OUTPUT
evaluate() {
  case $1 in
    cgru*)
      cgru translate -m "$2" -k 4 -n 1 --max-length-factor 2 --cpu-threads "$threads" --quiet \
        -i "$TEXT/valid.$source" -o "$3.$target"
      cgru score -m "$2" -s "$prep/dev.src" -t "$prep/dev.trg" --summary ce-mean-words \
        --cpu-threads "$threads" --quiet > "$3.part"
      ;;
    *)
      pymarian decode -m "$2" -v "$vocabulary" "$vocabulary" -b 4 -n 1 --cpu-threads "$threads" \
        --max-length-factor 2 --mini-batch 32 --maxi-batch 20 -i "$prep/dev.src" -o "$3.$target" \
        --quiet --quiet-translation
      pymarian score -m "$2" -v "$vocabulary" "$vocabulary" -t "$prep/dev.src" "$prep/dev.trg" \
        --summary ce-mean-words --cpu-threads "$threads" --quiet > "$3.part"
      ;;
  esac
  mv "$3.part" "$3.cost"
}

for system in $systems; do
  folder=$out/$size-$system-$seed
  mkdir -p "$folder"
  echo "compare.sh: $system, seed $seed, until $minutes CPU minutes" >&2
  train "$system" "$folder"
  printf '' > "$folder/points.part"
  for point in $points $minutes; do
    [ "$point" -le "$minutes" ] || continue
    found=$(python "$here/budget.py" pick "$folder/clock.tsv" "$point")
    [ -n "$found" ] || continue
    IFS=$'\t' read -r model used <<< "$found"
    output=$folder/valid.$point
    [ -e "$output.cost" ] || { rm -f "$output.$target"; evaluate "$system" "$model" "$output"; }
    scores=$(sacrebleu "$prep/dev.ref" -i "$output.$target" -m bleu chrf -b -w 1 -f text |
      tr '\n' '\t')
    printf '%s\t%s\t%s\t%s\t%s\t%s%s\n' "$size" "$system" "$seed" "$point" "$used" \
      "$scores" "$(tail -n 1 "$folder/valid.$point.cost")" >> "$folder/points.part"
  done
  sort -u -k4n "$folder/points.part" > "$folder/points.tsv"
done

{
  printf 'size\tsystem\tseed\tpoint\tcpu_minutes\tbleu\tchrf\tcross_entropy\n'
  cat "$out"/*/points.tsv
} | tee "$out/compare.tsv"
python "$here/curve.py" "$out/compare.tsv" "$out/compare.svg"
