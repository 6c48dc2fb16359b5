#!/usr/bin/env bash
# Train on software texts: Home Assistant's messages and, optionally, LibreOffice's help.
#
#   [OUT=it-docs] [DATA=OUT/data] [SOURCE=en] [TARGET=de] [WHEEL=FILE]
#   [DEBS="help-SOURCE.deb help-TARGET.deb"] recipes/it-docs/run.sh [options of cgru train]
# WHEEL is homeassistant-2026.2.3-py3-none-any.whl; by default pip downloads it (51 MB). DEBS=apt
# downloads LibreOffice's help with apt-get (Debian, Ubuntu; 5 MB). Existing text in DATA is used as
# it is. Run it again after an interruption to resume.
set -euo pipefail

source=${SOURCE:-en} target=${TARGET:-de}
out=${OUT:-it-docs}
data=${DATA:-$out/data}
packages=$out/packages
here=$(cd "$(dirname "$0")" && pwd)

for tool in cgru python sacrebleu; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

# The name of a help package ends with the language; en is en-us.
help_package() {
  case $1 in
    en) echo libreoffice-help-en-us ;;
    *) echo "libreoffice-help-$1" ;;
  esac
}

download_wheel() {
  # Only its files are needed, so it need not support this Python.
  python -m pip download --quiet --no-deps --ignore-requires-python --only-binary :all: \
    -d "$packages" homeassistant==2026.2.3
}

if [ ! -e "$data/train.$target" ]; then
  mkdir -p "$packages"
  wheel=${WHEEL:-$packages/homeassistant-2026.2.3-py3-none-any.whl}
  [ -n "${WHEEL:-}" ] || [ -e "$wheel" ] || download_wheel
  debs=()
  if [ "${DEBS:-}" = apt ]; then
    for language in "$source" "$target"; do
      package=$(help_package "$language")
      compgen -G "$packages/${package}_*.deb" > /dev/null ||
        (cd "$packages" && apt-get download "$package")
      debs+=("$(compgen -G "$packages/${package}_*.deb" | tail -n 1)")
    done
  elif [ -n "${DEBS:-}" ]; then
    read -ra debs <<< "$DEBS"
  fi
  python "$here/data.py" "$data" -s "$source" -t "$target" --wheel "$wheel" \
    ${debs[@]+--debs "${debs[@]}"}
fi

cgru prep "$out/prep" -s "$data/train.$source" -t "$data/train.$target" \
  --dev "$data/dev.$source" "$data/dev.$target" \
  --test "$data/test.$source" "$data/test.$target" \
  --source-lang "$source" --target-lang "$target" --subwords bpe --subword-vocabulary 5000

cgru train "$out/prep" -m "$out/model/model.npz" --defaults fixed --dim-emb 128 --dim-rnn 256 \
  --mini-batch 64 \
  --learn-rate 0.001 --dropout-embedding 0.2 --dropout-annotation 0.2 --dropout-output 0.3 \
  --exponential-smoothing 0.001 --valid-freq 1e --disp-freq 100u --early-stopping 5 "$@"

# There is no best model if training ended before its first validation.
model=$out/model/model.npz.best-bleu.npz
[ -e "$model" ] || model=$out/model/model.npz
cgru translate -m "$model" < "$data/test.$source" > "$out/test.$target.part"
mv "$out/test.$target.part" "$out/test.$target"
sacrebleu "$data/test.$target" -i "$out/test.$target" -m bleu chrf -w 1 -f text
