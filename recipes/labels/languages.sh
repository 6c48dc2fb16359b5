#!/usr/bin/env bash
# Identify the language of a message: a classifier compared with bags of words and of characters.
#
#   [OUT=languages] [DATA=OUT/data] [PACKAGE=FILE] [SEEDS="1 2 3"] [PIECES=8000]
#   recipes/labels/languages.sh [options of cgru train]
#
# PACKAGE is homeassistant-2026.2.3-py3-none-any.whl; by default pip downloads it (51 MB). Existing
# text in DATA (train, dev and test, each .text and .labels) is used as it is. Run it again after an
# interruption to resume. Needs: pip install '.[recipes]'
set -euo pipefail

out=${OUT:-languages} seeds=${SEEDS:-1 2 3} pieces=${PIECES:-8000}
data=${DATA:-$out/data}
package=${PACKAGE:-$out/homeassistant-2026.2.3-py3-none-any.whl}
here=$(cd "$(dirname "$0")" && pwd)

for tool in cgru python; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

if [ ! -e "$data/train.labels" ]; then
  # Only its files are needed, so it need not support this Python.
  [ -n "${PACKAGE:-}" ] || [ -e "$package" ] || python -m pip download --quiet --no-deps \
    --ignore-requires-python --only-binary :all: -d "$out" homeassistant==2026.2.3
  python "$here/languages.py" "$data" --wheel "$package"
fi

mkdir -p "$out"
for seed in $seeds; do
  run=$out/seed$seed
  cgru train --type classifier --defaults fixed -t "$data/train.text" "$data/train.labels" \
    -v "$out/pieces.spm" "$out/labels.json" -m "$run/model.npz" --seed "$seed" \
    --dim-vocabs "$pieces" 0 --sentencepiece-options '--character_coverage=1.0' --dim-emb 64 \
    --dim-rnn 64 --cell lstm --pooling mean --mini-batch 64 --learn-rate 0.003 --max-length 100 \
    --dropout-embedding 0.4 --dropout-output 0.2 --exponential-smoothing 0.001 \
    --valid-sets "$data/dev.text" "$data/dev.labels" --valid-metrics accuracy --valid-freq 1e \
    --after 8e --cpu-threads 1 --quiet "$@"
  cgru translate -m "$run/model.npz" --cpu-threads 1 < "$data/test.text" > "$run/test.part"
  mv "$run/test.part" "$run/test.labels"
done

for kind in words characters; do
  python "$here/baseline.py" "$data" --by "$kind" > "$out/$kind.part"
  mv "$out/$kind.part" "$out/$kind.labels"
done
python "$here/results.py" "$data" "$out/words.labels" "$out/characters.labels" \
  "$out"/seed*/test.labels --apart short | tee "$out/results.md"
