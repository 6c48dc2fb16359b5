#!/usr/bin/env bash
# Translate, score and serve in an environment that has ONNX Runtime and no TensorFlow.
#
#   tests/without_tensorflow.sh    (after `make install`, from the root of the repository)
set -euo pipefail

folder=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$folder"' EXIT
expected='Wo ist der Bahnhof?'
.venv/bin/cgru convert examples/en-de.npz "$folder/en-de.onnx"
git archive HEAD | tar -x --one-top-level="$folder/source"
.venv/bin/python -m venv "$folder/venv"
bin=$folder/venv/bin
"$bin/pip" install --quiet -r requirements-runtime.txt
"$bin/pip" install --quiet --no-deps "$folder/source"
for package in tensorflow keras h5py sacrebleu; do
  ! "$bin/python" -c "import $package" 2> /dev/null || { echo "$package is installed" >&2; exit 1; }
done

cd "$folder"
translated=$(echo 'Where is the station?' | "$bin/cgru" translate -m en-de.onnx)
[ "$translated" = "$expected" ] || { echo "translated: $translated" >&2; exit 1; }
score=$(printf 'Where is the station?\t%s\n' "$expected" | "$bin/cgru" score -m en-de.onnx)
[[ $score == -0.5560* ]] || { echo "scored: $score" >&2; exit 1; }
"$bin/cgru" serve -m en-de.onnx --port 8793 2> log &
server=$!
cat > ask.py << 'END'
import urllib.request

headers = {"Content-Type": "application/json"}
body = b'{"texts": ["Where is the station?"]}'
request = urllib.request.Request("http://127.0.0.1:8793/v1/translate", body, headers)
print(urllib.request.urlopen(request).read().decode())
END
for _ in {1..60}; do
  sleep 0.5
  answer=$("$bin/python" ask.py 2> /dev/null) && break
done
[[ ${answer-} == *"$expected"* ]] || { cat log >&2; echo "served: ${answer-}" >&2; exit 1; }
