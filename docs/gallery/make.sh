#!/usr/bin/env bash
# Redraw the gallery: docs/gallery/make.sh FIXTURES RUN
# FIXTURES has the models a-shallow and marian-s2s, with the same vocabulary, and codes.bpe. RUN is
# the folder of recipes/tatoeba's training.
set -euo pipefail
fixtures=$(realpath "$1") run=$(realpath "$2")
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

split() { sacremoses -q -l "$1" tokenize | subword-nmt apply-bpe -c "$fixtures/a-shallow/codes.bpe"; }
split en < english.txt > "$scratch/src"
split de < german.txt > "$scratch/trg"

nematus=$fixtures/a-shallow/model.npz marian=$fixtures/marian-s2s/model.npz
vocabularies="$fixtures/a-shallow/vocab.en.json $fixtures/a-shallow/vocab.de.json"
# shellcheck disable=SC2086
cgru translate -m "$nematus" "$marian" -v $vocabularies -i "$scratch/src" -o "$scratch/out" \
  --heatmap translated.html
cgru score -m "$nematus" -s "$scratch/src" -t "$scratch/trg" -o "$scratch/out" \
  --heatmap scored.svg --heatmap-lines 1
# shellcheck disable=SC2086
cgru score -m "$nematus" "$marian" --ensemble -v $vocabularies -s "$scratch/src" \
  -t "$scratch/trg" -o "$scratch/out" --heatmap ensemble.png --heatmap-lines 3
chromium --headless --no-sandbox --hide-scrollbars --window-size=1100,860 \
  --screenshot=translated.png translated.html

# The learning curves, as --plot draws them.
python - "$run" "$scratch" << 'END'
import sys
from pathlib import Path
from cgru_cli.train.run.curves import draw
run, scratch = map(Path, sys.argv[1:])
(records,) = run.glob("*.metrics.jsonl")
draw(records, scratch / "en-de.npz")
END
mv "$scratch/en-de.npz.svg" curves.svg

./page.sh
