#!/usr/bin/env bash
# Train the small model of examples/ on everyday sentences of Tatoeba.
#
#   DATA=DIR [SOURCE=en] [TARGET=de] [OUT=tatoeba] recipes/tatoeba/run.sh [options of cgru train]
# DATA has train, dev and test, each .SOURCE.gz and .TARGET.gz, one sentence per line. SOURCE=de
# TARGET=en trains the other direction; each needs an OUT of its own. The finished model is
# OUT/SOURCE-TARGET.npz. Run it again after an interruption to resume.
set -euo pipefail

: "${DATA:?the folder of the corpus, as DATA=data/tatoeba-en-de}"
source=${SOURCE:-en} target=${TARGET:-de}
out=${OUT:-tatoeba}
name=$source-$target

for tool in cgru sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

cgru prep "$out/prep" -s "$DATA/train.$source.gz" -t "$DATA/train.$target.gz" \
  --dev "$DATA/dev.$source.gz" "$DATA/dev.$target.gz" \
  --test "$DATA/test.$source.gz" "$DATA/test.$target.gz" \
  --source-lang "$source" --target-lang "$target" \
  --subwords bpe --joint --subword-vocabulary 6000

cgru train "$out/prep" -m "$out/run/model.npz" --defaults fixed --dim-emb 192 --dim-rnn 320 \
  --tied-embeddings-all --mini-batch 128 --maxi-batch 50 --max-length 60 \
  --learn-rate 0.0015 --lr-warmup 500u \
  --dropout-embedding 0.1 --dropout-annotation 0.1 --dropout-output 0.2 --label-smoothing 0.1 \
  --exponential-smoothing 0.001 --disp-freq 200u --save-freq 500u \
  --valid-freq 1e --valid-metrics bleu cross-entropy --beam-size 4 --early-stopping 0 \
  --lr-decay 0.5 --lr-decay-strategy epoch --lr-decay-start 7 --after-epochs 8 "$@"

# There is no best model if training ended before its first validation.
best=$out/run/model.npz.best-bleu.npz
[ -e "$best" ] || best=$out/run/model.npz
model=$out/$name.npz
if [ ! "$model" -nt "$best" ]; then
  cp "$out/prep/vocab.spm" "$out/$name.spm"
  cgru convert "$best" "$model" --store float16 -v "$out/$name.spm" "$out/$name.spm" --force
fi

if [ ! "$out/test.$target" -nt "$model" ]; then
  cgru translate -m "$model" < "$out/prep/test.raw" > "$out/test.$target.part"
  mv "$out/test.$target.part" "$out/test.$target"
fi
sacrebleu "$out/prep/test.ref" -i "$out/test.$target" -m bleu chrf -w 1 -f text
