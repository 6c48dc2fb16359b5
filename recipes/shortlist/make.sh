#!/usr/bin/env bash
# Make a shortlist from a model: the relative frequencies of the target words that its attention
# aligns with each source word.
#
#   MODEL=run/model.npz SOURCE=data/train.src TARGET=data/train.trg recipes/shortlist/make.sh
# Arguments are options of cgru score. Existing files are not made again.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
model=${MODEL:-run/model.npz}
source=${SOURCE:-data/train.src}
target=${TARGET:-data/train.trg}
out=${OUT:-shortlist}
alignments=${ALIGNMENTS:-$out/alignments}

mkdir -p "$out"
if [ ! -e "$alignments" ]; then
  cgru score -m "$model" -s "$source" -t "$target" --no-preprocess --no-spm-encode \
    --alignment hard -o "$alignments.part" "$@"
  mv "$alignments.part" "$alignments"
fi
python "$here/lexical_table.py" "$source" "$target" "$alignments" > "$out/lex.s2t.part"
mv "$out/lex.s2t.part" "$out/lex.s2t"
wc -l "$out/lex.s2t"
