#!/usr/bin/env bash
# Write a page that translates in the browser, with both example models.
#
#   [OUT=web] recipes/web/run.sh [options of cgru convert, such as --runtime-files FOLDER]
# Without --runtime-files npm downloads ONNX Runtime. Run it again to write the page again.
# Then: python -m http.server --directory OUT
set -euo pipefail

out=${OUT:-web}
examples=$(cd "$(dirname "$0")/../../examples" && pwd)

command -v cgru > /dev/null || { echo "cgru is not on the PATH" >&2; exit 1; }

cgru convert "$examples/en-de.npz" "$examples/de-en.npz" "$out" --to web --precision int8 \
  --force "$@"
