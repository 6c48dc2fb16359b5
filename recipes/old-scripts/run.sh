#!/usr/bin/env bash
# Run whole published scripts with cgru, under the names of the old programs.
#
#   [DATA=DIR] [OUT=old-scripts] [PAIRS=1000] [TESTS=20]
#   recipes/old-scripts/run.sh FOLDER SCRIPT...
#
# FOLDER is a copy of a repository, such as marian-examples, and each SCRIPT a path below it, such
# as training-basics/run-me.sh. FOLDER itself stays unchanged: the scripts run in OUT, in a copy in
# which substitutions.sed reduces the sizes. They find the old programs (cgru old-programs) where
# they expect them, and stand-ins for the tools that they call: downloads.py for wget, curl, git,
# make, nvidia-smi and sacreBLEU, moses.py for Moses' scripts and subword-nmt. A second command with
# the same FOLDER and OUT goes on in the same copy. Needs: pip install '.[prep,recipes]'
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: $0 FOLDER SCRIPT..." >&2; exit 2; }
folder=$(cd "$1" && pwd) || exit 1
shift
for script in "$@"; do
  [ -f "$folder/$script" ] || { echo "$folder/$script: no such script" >&2; exit 1; }
done
for tool in cgru python; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

out=${OUT:-old-scripts}
case $out in /*) ;; *) out=$PWD/$out ;; esac
case $out/ in
  "$folder"/*) echo "$out is inside the folder of the scripts; choose another OUT" >&2; exit 1 ;;
esac
mkdir -p "$out/${folder##*/}"
work=$(cd "$out/${folder##*/}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
copy=$work/copy
export WORK=$work PAIRS=${PAIRS:-1000} TESTS=${TESTS:-20} DATA=${DATA:-}
[ -z "$DATA" ] || DATA=$(cd "$DATA" && pwd)

if [ ! -e "$copy" ]; then
  rm -rf "$copy.part"
  cp -R "$folder" "$copy.part"
  chmod -R u+w "$copy.part"
  find "$copy.part" -name '*.sh' -o -name '*.py' | while read -r file; do
    sed -E -f "$here/substitutions.sed" "$file" > "$work/changed"
    cat "$work/changed" > "$file" # keeps its permissions
  done
  # Shorten texts, whose names end in a language.
  find "$copy.part" -type f -name '*.[a-z][a-z]' ! -name '*.sh' ! -name '*.py' |
    while read -r file; do
      case ${file##*/} in
        *.conll.*) # a sentence ends with an empty line
          lines=$TESTS
          case ${file##*/} in corpus.*) lines=$PAIRS ;; esac
          awk -v RS= -v ORS='\n\n' -v count="$lines" 'NR <= count' "$file"
          ;;
        corpus.* | train.*) sed "${PAIRS}q" "$file" ;;
        *) sed "${TESTS}q" "$file" ;;
      esac > "$work/changed"
      cat "$work/changed" > "$file"
    done
  rm -f "$work/changed"
  mv "$copy.part" "$copy"
fi
[ -e "$work/build/marian" ] || cgru old-programs "$work" --quiet

# The tools of Moses and subword-nmt, where `git clone` in FOLDER/tools would put them.
python "$here/moses.py" "$copy/tools"
python "$here/downloads.py" "$copy/tools" "$work/bin"

# Scripts take these from the environment, or substitutions.sed writes them.
export nematus=$work TOOLS=$copy/tools
export mosesdecoder=$TOOLS/moses-scripts subword_nmt=$TOOLS/subword-nmt
export PATH=$work/bin:$PATH PYTHONPATH=$work${PYTHONPATH+:$PYTHONPATH}
export RAN=$work/ran.txt FAILED=$work/failed.txt

status=0
for script in "$@"; do
  : > "$RAN"
  : > "$FAILED"
  (
    cd "$copy/$(dirname "$script")"
    BASH_ENV=$here/trace.bash bash "${script##*/}"
  ) < /dev/null || echo "$script: exit code $?" >> "$FAILED"
  python "$here/lines.py" "$copy" "$RAN" "$FAILED" || status=1
done
exit "$status"
