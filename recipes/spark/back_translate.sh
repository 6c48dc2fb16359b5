#!/usr/bin/env bash
# Back-translate text of the target language on a cluster, as an additional training corpus.
#
#   MONO=mono MODEL=back/run/model.npz recipes/spark/back_translate.sh
#
# MODEL translates from the target language into the source language. Arguments are options of
# cgru translate. Run it again after an interruption to resume.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mono=${MONO:-mono}
model=${MODEL:-back/run/model.npz}
out=${OUT:-back-translation}
read -ra spark <<< "${SPARK:---master local[2,4]}"
read -ra search <<< "${SEARCH:---output-sampling full --seed 1}"

cgru convert "$model" --info > /dev/null # report an invalid model before the cluster starts
mkdir -p "$out"
spark-submit "${spark[@]}" "$here/translate.py" "$mono" "$out/parts" -m "$model" "${search[@]}" "$@"
find "$out/parts" -name 'part-*.txt' | LC_ALL=C sort | xargs -d '\n' cat > "$out/text.source.part"

# The text that was translated, in the same order; each file ends with a line break.
find -L "$mono" -maxdepth 1 -type f ! -name '[._]*' | LC_ALL=C sort | while read -r path; do
  gzip -cdf "$path" | LC_ALL=C sed '$a\'
done > "$out/text.target.part"

lines=$(wc -l < "$out/text.source.part")
[ "$lines" = "$(wc -l < "$out/text.target.part")" ] ||
  { echo "$out: source and target differ in their number of lines" >&2; exit 1; }
mv "$out/text.source.part" "$out/text.source"
mv "$out/text.target.part" "$out/text.target"
echo "$lines pairs; add them to the others:"
echo "  cgru prep data -s train.source $out/text.source -t train.target $out/text.target ..."
