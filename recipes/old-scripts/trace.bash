# Sourced by every bash that runs a script (BASH_ENV): it records the lines that run, and the
# commands that fail, which most scripts pass over.
_script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
set -o pipefail -o functrace -o errtrace
# `expr 1 - 1` prints 0 and ends with 1.
trap 'code=$?; [[ $BASH_COMMAND = *expr\ * ]] || printf "%s: line %s: exit code %s: %.100s\n" \
  "$0" "$LINENO" "$code" "$BASH_COMMAND" >> "$FAILED"' ERR
trap 'echo "$_script:$LINENO" >> "$RAN"' DEBUG
