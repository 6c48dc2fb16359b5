#!/usr/bin/env bash
# Translate, score, serve and convert in an environment without TensorFlow, and print its size.
#
#   [CGRU_SHARED=FOLDER] tests/without_tensorflow.sh    (from the root of the repository)
#
# With CGRU_SHARED, the reference models in its folder `fixtures` give the outputs of their programs.
# PYTHON is an interpreter with venv.
set -euo pipefail
unset PYTHONPATH

PYTHON=${PYTHON:-.venv/bin/python}
shared=${CGRU_SHARED:+$(realpath "$CGRU_SHARED")}
tests=$PWD/tests
folder=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$folder"' EXIT
expected='Wo ist der Bahnhof?'
git archive HEAD | tar -x --one-top-level="$folder/source"
"$PYTHON" -m venv "$folder/venv"
bin=$folder/venv/bin
"$bin/pip" install --quiet -r requirements-runtime.txt
"$bin/pip" install --quiet --no-deps "$folder/source"
for package in tensorflow keras sacrebleu; do
  ! "$bin/python" -c "import $package" 2> /dev/null || { echo "$package is installed" >&2; exit 1; }
done
"$bin/pip" list
packages=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
du -sm --exclude='pip*' --exclude=__pycache__ "$packages" | sed -E 's/\t.*/ MiB without TensorFlow/'

cd "$folder"
cp source/examples/en-de* .
check() { # WHAT FOUND PATTERN
  [[ $2 == $3 ]] || { echo "$1: $2" >&2; exit 1; }
}
for model in en-de.npz en-de.h5 en-de.onnx int8.onnx; do
  case $model in
    *.h5 | en-de.onnx) "$bin/cgru" convert en-de.npz "$model" ;;
    int8.onnx) "$bin/cgru" convert en-de.npz "$model" --precision int8 ;;
  esac
  check "translate -m $model" "$(echo 'Where is the station?' | "$bin/cgru" translate -m "$model")" "$expected"
  score=-0.5560* && [ "$model" != int8.onnx ] || score=-0.[56]*
  check "score -m $model" \
    "$(printf 'Where is the station?\t%s\n' "$expected" | "$bin/cgru" score -m "$model")" "$score"
done
check "--precision int8" \
  "$(echo 'Where is the station?' | "$bin/cgru" translate -m en-de.npz --precision int8)" "$expected"
check "--runtime" \
  "$(echo 'Where is the station?' | "$bin/cgru" translate -m en-de.npz --runtime tensorflow 2>&1)" \
  "cgru: note: without effect here: --runtime *$expected"
check "score --metric" "$("$bin/cgru" score --metric bleu -t ask.py --reference ask.py 2>&1 || true)" \
  'cgru: sacrebleu is not installed: pip install sacrebleu'
check train "$("$bin/cgru" train -m new.npz -t en-de.npz en-de.npz 2>&1 || true)" 'cgru: *'

"$bin/cgru" serve -m npz=en-de.npz int8=int8.onnx --port 8793 2> log &
server=$!
cat > ask.py << 'END'
import json
import urllib.request

for model in ("npz", "int8"):
    headers = {"Content-Type": "application/json"}
    body = json.dumps({"model": model, "texts": ["Where is the station?"]}).encode()
    request = urllib.request.Request("http://127.0.0.1:8793/v1/translate", body, headers)
    print(urllib.request.urlopen(request).read().decode())
END
for _ in {1..60}; do
  sleep 0.5
  answer=$("$bin/python" ask.py 2> /dev/null) && break
done
check serve "${answer-}$([[ ${answer-} ]] || cat log)" "*$expected*$expected*"
kill $server
wait $server || true
server=

if [ -d "${shared:+$shared/fixtures}" ]; then
  "$bin/python" "$tests/without_tensorflow.py" "$shared/fixtures" "$folder" 2> differences ||
    { cat differences >&2; exit 1; }
else
  echo 'no reference models: name their folder with CGRU_SHARED' >&2
fi
