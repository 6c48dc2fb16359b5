#!/usr/bin/env bash
# Write pages that translate in the browser: both example models, and a page that links them.
#
#   [OUT=web] recipes/web/run.sh [options of cgru convert, such as --runtime-files FOLDER]
# Without --runtime-files npm downloads ONNX Runtime. Run it again to write the pages again.
# Then: python -m http.server --directory OUT
set -euo pipefail

out=${OUT:-web}
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../examples

command -v cgru > /dev/null || { echo "cgru is not on the PATH" >&2; exit 1; }

mkdir -p "$out"
for model in en-de de-en; do
  cgru convert "$examples/$model.npz" "$out/$model" --to web --precision int8 --force "$@"
  printf '%s: %s bytes\n' "$out/$model" "$(cat "$out/$model"/* | wc -c)"
done
cp "$here/index.html" "$out/index.html"
