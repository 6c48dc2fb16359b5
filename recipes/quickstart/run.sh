#!/usr/bin/env bash
# Build a small translation system in minutes: make text, prepare it, train, translate, score.
#
#   [OUT=quickstart] [DATA=OUT/data] [SOURCE=en] [TARGET=de] [UPDATES=1000]
#   recipes/quickstart/run.sh [options of cgru train]
# data.py generates text with dates, times, quantities, prices and names. To use your own text, set
# DATA to a folder with train, dev and test, each .SOURCE and .TARGET. Run it again
# after an interruption to resume. Needs: pip install '.[quickstart]'
set -euo pipefail

source=${SOURCE:-en} target=${TARGET:-de} updates=${UPDATES:-1000}
out=${OUT:-quickstart}
data=${DATA:-$out/data}
here=$(cd "$(dirname "$0")" && pwd)

for tool in cgru python sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

# train.TARGET is the last file that data.py writes.
if [ ! -e "$data/train.$target" ]; then
  [ -z "${DATA:-}" ] || { echo "$data/train.$target: no such file" >&2; exit 1; }
  python "$here/data.py" "$data" -s "$source" -t "$target"
fi

cgru prep "$out/prep" -s "$data/train.$source" -t "$data/train.$target" \
  --dev "$data/dev.$source" "$data/dev.$target" \
  --test "$data/test.$source" "$data/test.$target" \
  --source-lang "$source" --target-lang "$target" --subwords bpe --subword-vocabulary 1000

cgru train "$out/prep" -m "$out/model/model.npz" --defaults fixed --dim-emb 64 --dim-rnn 128 \
  --mini-batch 64 --learn-rate 0.004 --valid-freq 500u --disp-freq 100u --after "${updates}u" "$@"

cgru translate -m "$out/model/model.npz" < "$data/test.$source" > "$out/test.$target.part"
mv "$out/test.$target.part" "$out/test.$target"

printf '\nsource, translation, reference:\n'
paste -d '\n' "$data/test.$source" "$out/test.$target" "$data/test.$target" |
  awk 'NR <= 9 { print "  " $0 } NR == 3 || NR == 6 || NR == 9 { print "" }'
sacrebleu "$data/test.$target" -i "$out/test.$target" -m bleu chrf -w 1 -f text

echo
echo "to serve the model, with a page at http://127.0.0.1:8080/ (pip install 'cgru[serve]'):"
printf '  cgru serve -m %q\n' "$out/model/model.npz"
