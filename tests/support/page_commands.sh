# Sourced before the commands of a page: programs that are not there, and short trainings.
set -euo pipefail

cgru() {
  case "${1-}" in
    train) command cgru "$@" --after 2u --no-reload ;;
    prep)
      case " $* " in
        *" --apply "* | *" --undo "* | *" --vocabulary-only "* | *" none "*) command cgru "$@" ;;
        *) command cgru "$@" --subword-vocabulary 120 --force ;;
      esac ;;
    convert)
      case " $* " in
        *" --info"*) command cgru "$@" ;;
        *" web "*) command cgru "$@" --force ${CGRU_WEB_RUNTIME:+--runtime-files "$CGRU_WEB_RUNTIME"} ;;
        *) command cgru "$@" --force ;;
      esac ;;
    serve)  # in the background, in the place of the server before
      stop_server
      command cgru "$@" --port "$PORT" --quiet &
      server=$!
      until command curl --silent --fail --output /dev/null "localhost:$PORT/health/ready"; do
        kill -0 "$server" && sleep 0.1
      done ;;
    *) command cgru "$@" ;;
  esac
}

stop_server() {
  [ -z "${server-}" ] || { kill "$server"; wait "$server"; }
  server=
}
trap stop_server EXIT

curl() { command curl --silent --fail "${@/localhost:8080/localhost:$PORT}"; }

srun() {  # Slurm's
  while [ "$1" != cgru ]; do shift; done
  "$@"
}

tail() {  # does not follow
  [ "$1" != -f ] || shift
  command tail "$@"
}

eval() {  # no bash: zsh's completion
  case "$*" in
    '#compdef'*) ;;
    *) builtin eval "$@" ;;
  esac
}
yes() { command yes "$@" || true; }  # which `head` ends
source() { cat > /dev/null; }  # fish reads its standard input
python() { [ "${2-}" = http.server ] || command python "$@"; }
pip() { :; }
sbatch() { :; }
docker() { :; }
man() { :; }
make() { :; }
