#!/usr/bin/env bash
# Image captions: rows of handwritten digits and the number in words, with --type lm --condition.
#
#   [OUT=captions] [DATA=OUT/data] [SEEDS="1 2 3"]
#   recipes/captions/run.sh [options of cgru train]
# Existing images in DATA (in the format of pictures.py) are used as they are. Run it again after an
# interruption to resume. Needs: pip install '.[recipes]'
set -euo pipefail

out=${OUT:-captions} seeds=${SEEDS:-1 2 3}
data=${DATA:-$out/data}
here=$(cd "$(dirname "$0")" && pwd)

for tool in cgru python; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

if [ ! -e "$data/train.txt" ]; then  # the last file that pictures.py writes
  python "$here/pictures.py" "$data"
fi
mkdir -p "$out"
if [ ! -e "$out/vocab.yml" ]; then
  cgru prep --vocabulary-only --compat marian < "$data/train.txt" > "$out/vocab.part"
  mv "$out/vocab.part" "$out/vocab.yml"
fi

for seed in $seeds; do
  run=$out/seed$seed
  cgru train --type lm --condition --defaults fixed -t "$data/train.npy" "$data/train.txt" \
    -v "$out/vocab.yml" -m "$run/model.npz" --seed "$seed" --dim-emb 32 --dim-rnn 256 \
    --mini-batch 64 \
    --learn-rate 0.002 --dropout-hidden 0.2 --exponential-smoothing 0.001 \
    --valid-sets "$data/dev.npy" "$data/dev.txt" --valid-freq 1e --valid-metrics cross-entropy \
    --after 8e --cpu-threads 1 --quiet "$@"
  for name in test new; do
    cgru translate -m "$run/model.npz" -i "$data/$name.npy" --cpu-threads 1 > "$run/$name.part"
    mv "$run/$name.part" "$run/$name.txt"
  done
done

folders=()
for seed in $seeds; do folders+=("$out/seed$seed"); done
python "$here/results.py" "$data" "${folders[@]}" | tee "$out/results.md"
