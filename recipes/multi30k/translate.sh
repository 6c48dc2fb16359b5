#!/usr/bin/env bash
# Translate a test set of Multi30k with a pipe, and score it with sacreBLEU.
#
#   recipes/multi30k/translate.sh [-s en] [-t de] [-T test_2016_flickr] [-o OUT]
#                                 DATA_DIR MODEL [CODES] [-- options of cgru translate]
#
# DATA_DIR holds raw text, one sentence per line: test_2016_flickr.en.gz and .de.gz. CODES are the
# model's BPE codes; without them words are not split. Tokeniser, BPE and cgru must be on the PATH:
# pip install sacremoses subword-nmt
set -euo pipefail

usage() {
  sed -n '4,5s/^# *//p' "$0" >&2
  exit 2
}

source=en target=de set=test_2016_flickr out=
while getopts s:t:T:o: option; do
  case $option in
    s) source=$OPTARG ;;
    t) target=$OPTARG ;;
    T) set=$OPTARG ;;
    o) out=$OPTARG ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
data=$1 model=$2 codes=
shift 2
if [ $# -gt 0 ] && [ "$1" != -- ]; then
  codes=$1
  shift
fi
if [ $# -gt 0 ]; then
  [ "$1" = -- ] || usage
  shift
fi

for tool in cgru sacremoses sacrebleu ${codes:+subword-nmt}; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${out:-$work/$set.$target}

split() { if [ -n "$codes" ]; then subword-nmt apply-bpe -c "$codes"; else cat; fi; }

gzip -dc "$data/$set.$source.gz" |
  sacremoses -q -l "$source" tokenize |
  split |
  cgru translate -m "$model" --join-bpe "$@" |
  sacremoses -q -l "$target" detokenize > "$out"

gzip -dc "$data/$set.$target.gz" > "$work/reference"
sacrebleu "$work/reference" -i "$out" -m bleu chrf -w 2 -f text
