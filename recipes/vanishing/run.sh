#!/usr/bin/env bash
# Vanishing and exploding gradients: plain cells, GRU and LSTM on a memory task.
#
#   [OUT=vanishing] [MODELS="tanh-large gru"] [SEEDS="1 2 3"] [UPDATES=700] [JOBS=2]
#   recipes/vanishing/run.sh [options of cgru train]
# A language model has to repeat a line's first word at its end. vanishing.py makes the text and the
# initial models, and turns the records of the trainings into a table, a plot and a page. Run it
# again after an interruption to resume. Needs: pip install '.[plot]'
set -euo pipefail

out=${OUT:-vanishing} seeds=${SEEDS:-1 2 3} updates=${UPDATES:-700} jobs=${JOBS:-2}
here=$(cd "$(dirname "$0")" && pwd)
options=("$@")
models=${MODELS:-tanh-small tanh-orthogonal tanh-large}
models=${MODELS:-$models relu-small relu-orthogonal relu-large gru lstm}
runs=()

for tool in cgru python; do
  command -v "$tool" > /dev/null || { echo "$tool is not on the PATH" >&2; exit 1; }
done

adam=(--optimizer adam --learn-rate 0.01 --lr-warmup 100u --clip-norm 1 --cost-type ce-mean-words)
clipped=(--optimizer sgd --learn-rate 0.2 --clip-norm 1)
unclipped=(--optimizer sgd --learn-rate 0.2 --clip-norm 0)

# MODEL OPTIMISER OPTIONS...: one training for each seed, JOBS of them in parallel.
train() {
  local model=$1 optimiser=$2 seed
  shift 2
  for seed in $seeds; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.1; done
    runs+=("$out/$optimiser/$model-$seed")
    one "$out/$optimiser/$model-$seed" "$out/start/$model-$seed.npz" "$seed" "$@" &
  done
}

# A training that stops because its gradients are not finite also has a result.
one() {
  local run=$1 start=$2 seed=$3
  shift 3
  [ ! -e "$run/done" ] || return 0
  mkdir -p "$run"
  if ! {
    cgru train --type lm -t "$out/train.txt" -m "$run/model.npz" --pretrained-model "$start" \
      --defaults fixed --seed "$seed" --mini-batch 32 --after "${updates}u" \
      --valid-freq 0 --save-freq 0 \
      --disp-freq 25u --log-gradients --quiet --cpu-threads 1 "$@" ${options[@]+"${options[@]}"} &
    trap 'kill $!; wait $!' TERM  # of the shell of this job, which would leave its training alone
    wait $!
  } 2> "$run/errors"; then
    grep -q 'not finite' "$run/errors" || { cat "$run/errors" >&2; return 1; }
  fi
  touch "$run/done"
}

trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT
# shellcheck disable=SC2086
python "$here/vanishing.py" start "$out" $models --seeds $seeds
for model in $models; do
  train "$model" adam "${adam[@]}"
  case $model in *-large | gru)  # models whose gradients explode, and one whose do not
    train "$model" clipped "${clipped[@]}"
    train "$model" unclipped "${unclipped[@]}" ;;
  esac
done
wait  # the shell may have forgotten the exit codes of old jobs; the mark in their folder has them
for run in "${runs[@]}"; do [ -e "$run/done" ] || exit 1; done
python "$here/vanishing.py" report "$out"
