"""Whole scripts of other programs that train, and then use the trained model.

Only a path is changed in them. Marian's scripts also run with Marian (pymarian): both write the
same kinds of lines and files, and with the model trained by Marian the rest of the script writes
the same numbers.
"""

import re

import pytest
from selection import choice
from whole_scripts import (
    model_folder,
    run,
    same,
)

pytestmark = pytest.mark.long


# name: (training, use of the model)
MARIAN = {
    # a configuration written by a script, and the same command again with more updates
    "configuration": (
        """
mkdir -p model
cat > config.yml <<EOF
type: s2s
model: model/model.npz
train-sets: [src.txt, trg.txt]
vocabs:
  - vocab.en.json
  - vocab.de.json
dim-emb: 8
dim-rnn: 8
layer-normalization: true
tied-embeddings: true
mini-batch: 10
disp-freq: 2
save-freq: 4u
valid-freq: 4u
valid-metrics: [cross-entropy, perplexity]
valid-sets: [src.txt, trg.txt]
overwrite: true
log: model/train.log
EOF
$MARIAN/build/marian -c config.yml -d 0 --after-batches 4
$MARIAN/build/marian -c config.yml -d 0 --after-batches 6
""",
        "cat src.txt | $MARIAN/build/marian-decoder -c model/model.npz.decoder.yml -d 0 -b 3 -n "
        "--n-best --max-length-factor 1 --mini-batch 1 --maxi-batch 1 > $OUT",
    ),
    # marian-examples/wmt2017-uedin: a second model that reranks a list
    "second model": (
        """
mkdir -p model
$MARIAN/build/marian --model model/model.npz --type s2s --train-sets src.txt trg.txt \\
  --max-length 100 --vocabs vocab.en.json vocab.de.json -w 300 --mini-batch 10 --maxi-batch 10 \\
  --dim-emb 8 --dim-rnn 8 --enc-depth 2 --enc-type alternating --dec-cell-base-depth 2 \\
  --dec-cell-high-depth 1 --tied-embeddings --skip --label-smoothing 0.1 \\
  --learn-rate 0.0003 --lr-warmup 4 --lr-decay-inv-sqrt 4 --lr-report --optimizer-params 0.9 \\
  0.98 1e-09 --clip-norm 5 --devices 0 --sync-sgd --seed 1111 --exponential-smoothing \\
  --after-batches 4 --disp-freq 2 --save-freq 4 --log model/train.log
""",
        "cat src.txt | $MARIAN/build/marian-decoder -m model.npz -v vocab.en.json vocab.de.json "
        "-b 3 -n --n-best --quiet > nbest.0\n"
        "$MARIAN/build/marian-scorer -m model/model.npz -v vocab.en.json vocab.de.json -d 0 "
        "--mini-batch 16 --maxi-batch 100 --maxi-batch-sort trg --n-best --n-best-feature R2L0 "
        "-t src.txt nbest.0 > nbest.1\n"
        "sed -r 's/ F0= / /;s/ R2L0= / /' nbest.1 | awk -F' [|][|][|] ' "
        '\'{ split($3, f, " +"); print $1 "\\t" f[1] + f[2] "\\t" $2 }\' '
        "| sort -k1,1n -k2,2gr -s > $OUT",
    ),
    # the options of the systems of 2016
    "amun": (
        """
mkdir -p model
$MARIAN/marian --type amun --model model/model.npz --devices 0 --train-sets src.txt trg.txt \\
  --vocabs vocab.en.json vocab.de.json --dim-vocabs 300 400 --dim-emb 8 --dim-rnn 8 \\
  --layer-normalization --dropout-rnn 0.2 --dropout-src 0.1 --dropout-trg 0.1 --mini-batch 10 \\
  --valid-freq 4 --save-freq 4 --disp-freq 2 --valid-metrics cross-entropy perplexity \\
  --valid-sets src.txt trg.txt --early-stopping 10 --after-batches 4 --overwrite --keep-best \\
  --seed 1111 --no-shuffle --log model/train.log --valid-log model/valid.log
""",
        "$MARIAN/marian-scorer -m model/model.npz -v vocab.en.json vocab.de.json -t src.txt "
        "trg.txt --dim-vocabs 300 400 > $OUT",
    ),
    # fine-tuning, with alignments and weights
    "guided": (
        """
mkdir -p model
sed 's/.*/0-0 1-1/' src.txt > align.txt
seq 50 | sed 's/.*/0.5/' > weights.txt
$MARIAN/marian --pretrained-model model.npz -m model/model.npz --type s2s -t src.txt trg.txt \\
  -v vocab.en.json vocab.de.json --dim-emb 72 --dim-rnn 128 --guided-alignment align.txt \\
  --guided-alignment-cost ce --data-weighting weights.txt --mini-batch 10 --after-epochs 1 \\
  --disp-freq 2 --learn-rate 0.00001 --optimizer sgd --log model/train.log --quiet-translation
""",
        "$MARIAN/marian-decoder -m model/model.npz -v vocab.en.json vocab.de.json -i src.txt "
        "--alignment hard -b 3 -o $OUT",
    ),
}
WANTED = ("Ep. ", "[valid] Ep. ", "Seen ", "Starting data", "Training ", "Decaying ")


def kinds(log):
    """The kinds of lines that scripts search for, without numbers."""
    lines = (line.partition("] ")[2] for line in log.splitlines())
    shown = (line for line in lines if line.startswith(WANTED))
    shown = (re.sub(r"Cost .*? : Time", "Cost : Time", line) for line in shown)
    return {" ".join(re.findall(r"[A-Za-z][\w.-]*", line)) for line in shown}


@pytest.mark.parametrize("name", choice(MARIAN))
def test_marians_scripts_train_and_continue(old_programs, marian, tmp_path, name):
    training, going_on = MARIAN[name]
    logs, found = [], []
    for programs in (marian, old_programs):
        folder = model_folder(tmp_path / programs.name, "marian-s2s", lines=50)
        run(training, folder, MARIAN=programs)
        logs.append((folder / "model/train.log").read_text("utf-8"))
        found.append({path.name for path in (folder / "model").iterdir()})
    assert kinds(logs[0]) == kinds(logs[1])
    read_by_scripts = re.compile(r"model\.npz|model\.npz\.best-[\w-]+\.npz|.*\.log")
    theirs, ours = ({f for f in files if read_by_scripts.fullmatch(f)} for files in found)
    assert theirs <= ours
    theirs, ours = ({f for f in files if re.search(r"iter.*(npz|yml)$", f)} for files in found)
    assert theirs == ours  # models kept without --overwrite
    outputs = []
    for programs in (marian, old_programs):
        folder = tmp_path / marian.name
        run(going_on, folder, MARIAN=programs, OUT=f"out.{programs.name}")
        outputs.append((folder / f"out.{programs.name}").read_text("utf-8"))
    same(*reversed(outputs))
