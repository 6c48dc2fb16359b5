#!/usr/bin/env bash
# Train one model of the ladder with one seed, translate and score. Called by run.sh.
#
#   recipes/ladder/train_model.sh "MODEL SEED" PREP OUT UPDATES [options of cgru train]
set -euo pipefail

read -r name seed <<< "$1"
prep=$2 out=$3 updates=$4
shift 4
run=$out/$name/seed$seed
model=$run/model.npz

cgru train "$prep" -m "$model" --config "$out/$name.yml" --seed "$seed" --after "${updates}u" \
  --defaults fixed --mini-batch 64 --max-length 60 --learn-rate 0.002 --dropout-embedding 0.2 \
  --dropout-output 0.2 --valid-freq 0 --save-freq 250u --disp-freq 50u --cpu-threads 1 \
  --quiet "$@"

case $name in
  lm-*) ;;
  *)
    if [ ! "$run/test.words" -nt "$model" ]; then
      cgru translate -m "$model" --no-preprocess --join-bpe -k 5 -n 1 --cpu-threads 1 \
        < "$out/test.src" > "$run/test.part"
      mv "$run/test.part" "$run/test.words"
    fi
    ;;
esac
if [ ! "$run/perplexity" -nt "$model" ]; then
  case $name in
    lm-*)
      cgru score -m "$model" --no-preprocess -t "$out/test.trg" --summary perplexity \
        --cpu-threads 1
      ;;
    *)
      cgru score -m "$model" --no-preprocess -s "$out/test.src" -t "$out/test.trg" \
        --summary perplexity --cpu-threads 1
      ;;
  esac > "$run/perplexity.part"
  mv "$run/perplexity.part" "$run/perplexity"
fi
echo "$name, seed $seed: perplexity $(cat "$run/perplexity")"
