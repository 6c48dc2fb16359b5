"""Whole scripts of Marian, amun, Nematus and DL4MT in which only a path is changed.

Each runs on small data with the programs written by `cgru old-programs`. Marian's scripts also run
with Marian (pymarian), and both outputs are compared; for Nematus and DL4MT there is their output
for the reference models.
"""

import re

import pytest
from selection import choice
from shared_files import FIXTURES
from whole_scripts import (
    NUMBER,
    best_of,
    model_folder,
    run,
    same,
)

pytestmark = pytest.mark.long


# -- Marian's scripts, run by both -----------------------------------------------------------------

DECODING = {
    # marian-examples/training-basics/run-me.sh
    "decoder.yml": """
cat src.txt | $MARIAN/marian-decoder -c model.npz.decoder.yml -d 0 -b 6 -n1 \\
  --mini-batch 64 --maxi-batch 10 --maxi-batch-sort src > out""",
    # marian-examples/wmt2017-uedin/run-me.sh
    "back-translation": """
$MARIAN/build/marian-decoder -c model.npz.decoder.yml -i src.txt -b 6 --normalize=1 -w 2500 \\
  -d 0 --mini-batch 64 --maxi-batch 100 --maxi-batch-sort src --max-length 200 \\
  --max-length-crop > out""",
    "n-best": """
cat src.txt | $MARIAN/marian-decoder -c model.npz.decoder.yml -m model.npz -d 0 1 \\
  --mini-batch 16 --maxi-batch 100 --maxi-batch-sort src -w 5000 --n-best --beam-size 4 \\
  --quiet-translation > out""",
    "options alone": """
$MARIAN/build/marian-decoder --models model.npz --vocabs vocab.en.json vocab.de.json \\
  -i src.txt -o out -b 3 -n 0.6 --allow-unk --quiet --max-length-factor 2""",
    "alignments": """
$MARIAN/marian-decoder -m model.npz -v vocab.en.json vocab.de.json --alignment soft --word-scores \\
  --n-best -b 2 --mini-batch 1 --maxi-batch 1 < src.txt > out""",
}  # fmt: skip
SCORING = {
    # marian-examples/wmt2017-uedin/run-me.sh, in two steps
    "n-best list": """
$MARIAN/marian-decoder -c model.npz.decoder.yml -b 3 --n-best --quiet < src.txt > nbest.0
$MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -d 0 --mini-batch 16 \\
  --maxi-batch 100 --maxi-batch-sort trg --n-best --n-best-feature R2L0 -t src.txt nbest.0 > out""",
    "pairs": """
$MARIAN/build/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -t src.txt trg.txt \\
  -w 500 --mini-batch 32 --maxi-batch 10 -d 0 > out""",
    "summary": """
$MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -t src.txt trg.txt \\
  --summary perplexity --quiet > out
$MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -t src.txt trg.txt \\
  --summary ce-mean-words --quiet >> out""",
    "normalised": """
$MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -t src.txt trg.txt --normalize \\
  -o out --quiet""",
    "tsv": """
paste src.txt trg.txt | $MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json \\
  --tsv -t stdin --quiet > out""",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "model"),
    choice(
        [(name, "marian-s2s") for name in (*DECODING, *SCORING)]
        + [("n-best", "marian-amun"), ("pairs", "marian-nematus")],
        *((name, "marian-s2s") for name in ("decoder.yml", "alignments", "tsv")),
    ),
)
def test_marians_scripts_write_the_same(old_programs, marian, tmp_path, name, model):
    script = {**DECODING, **SCORING}[name]
    outputs = []
    for programs in (marian, old_programs):
        folder = model_folder(tmp_path / programs.name, model)
        run(script, folder, MARIAN=programs)
        outputs.append((folder / "out").read_text("utf-8"))
    same(*reversed(outputs))


AMUN = {
    # marian-examples/translating-amun/run-me.sh
    "run-me": """
cat src.txt | $MARIAN/build/amun -m model.npz -s vocab.en.json -t vocab.de.json --mini-batch 50 \\
  --maxi-batch 1000 -d 0 --gpu-threads 1 -b 5 -n -u > out""",
    "amun.yml": "$MARIAN/amun -c model.npz.amun.yml -b 5 -n -u -i src.txt > out",
    "dumped": """
$MARIAN/build/amun -m model.npz -s vocab.en.json -t vocab.de.json --mini-batch 1 --maxi-batch 1 \\
  -d 0 -b 5 -n -u --relative-paths --dump-config > dumped.yml
cat src.txt | $MARIAN/build/amun -c dumped.yml --gpu-threads 1 > out""",
    # as written by common validate.sh scripts
    "written by a script": """
prefix=model.npz
cat > config.yml <<EOF
# paths are those of this file
relative-paths: yes
beam-size: 5
normalize: yes
scorers:
  F0:
    path: $prefix
    type: Nematus
  F1:
    path: $prefix
    type: Nematus
weights:
  F0: 0.5
  F1: 0.5
source-vocab: vocab.en.json
target-vocab: vocab.de.json
allow-unk: true
debpe: false
EOF
$MARIAN/build/bin/amun -c config.yml -d 0 --gpu-threads 1 --i src.txt > out""",
    "the best of a list": """
$MARIAN/build/amun -c model.npz.amun.yml --n-best --beam-size 5 --normalize --allow-unk \\
  --return-alignment --mini-batch 10 --maxi-batch 1000 --log-progress off < src.txt > nbest
awk -F' [|][|][|] ' '!seen[$1]++ { print $2 }' nbest | sed 's/ *$//' > out""",
}  # fmt: skip


@pytest.mark.parametrize("name", choice(AMUN, "run-me", "written by a script"))
def test_amuns_scripts_translate_as_marian_does(old_programs, tmp_path, name):
    """The model is Marian's of that type, with known translations."""
    folder = model_folder(tmp_path / "case", "marian-amun")
    run(AMUN[name], folder, MARIAN=old_programs)
    theirs = best_of((FIXTURES / "marian-amun/nbest.k5.norm1.txt").read_text("utf-8"))
    assert (folder / "out").read_text("utf-8") == theirs


# marian-examples/training-basics/run-me.sh, small: without vocabularies, validated by a script
TRAINING = """
mkdir -p model
head -n 8 src.txt > few.src
head -n 8 trg.txt > few.trg
$MARIAN/build/marian --devices 0 --type s2s --model model/model.npz --train-sets src.txt trg.txt \\
  --vocabs model/vocab.en.yml model/vocab.de.yml --dim-emb 8 --dim-rnn 8 --mini-batch 10 \\
  --early-stopping 5 --valid-freq 10 --save-freq 10 --disp-freq 5 --after-batches 20 \\
  --valid-metrics cross-entropy translation --valid-sets few.src few.trg \\
  --valid-script-path "bash ./validate.sh" --log model/train.log --valid-log model/valid.log \\
  --overwrite --keep-best --seed 1111 --beam-size 2 --normalize=1 \\
  --quiet-translation --lr-decay 0.5 --lr-decay-strategy batches --lr-decay-start 15 \\
  --lr-decay-freq 100
cat few.src | $MARIAN/build/marian-decoder -m model/model.npz.best-translation.npz -d 0 -b 2 -n1 \\
  -v model/vocab.en.yml model/vocab.de.yml --max-length-factor 1 > out
"""
VALIDATE = "cat $1 | wc -l | sed -r 's/ *([0-9]+)/\\1/'\n"


def test_marian_is_trained_and_its_log_read(old_programs, marian, tmp_path):
    """Training gives other weights, but the same files and the log lines that scripts search."""
    found = []
    for programs in (marian, old_programs):
        folder = model_folder(tmp_path / programs.name, "marian-s2s", lines=50)
        (folder / "validate.sh").write_text(VALIDATE)
        run(TRAINING, folder, MARIAN=programs)
        log = (folder / "model/train.log").read_text("utf-8")
        valid = (folder / "model/valid.log").read_text("utf-8")
        lines = [line.partition("] ")[2] for line in log.splitlines()]
        wanted = "Ep. ", "[valid] Ep. ", "Decaying learning", "Seen ", "Starting data", "Training "
        shown = [NUMBER.sub("#", line) for line in lines if line.startswith(wanted)]
        shown = [re.sub(r"Cost .*? : Time", "Cost : Time", line) for line in shown]
        found.append((
            [re.sub(r"[\d.]+s : [\d.#]+ words", "#s : # words", line) for line in shown],
            [line.split(" : ")[2] for line in valid.splitlines() if "Ep. " in line],
            (folder / "model/vocab.en.yml").read_bytes(),
            (folder / "out").read_text("utf-8").count("\n"),
            {p.name for p in (folder / "model").glob("model.npz*.npz")}
            & {"model.npz.best-translation.npz", "model.npz.best-cross-entropy.npz"},
        ))  # fmt: skip
    theirs, ours = found
    for mine, marians in zip(ours[1:], theirs[1:], strict=True):
        assert mine == marians
    kinds = [[" ".join(re.findall(r"[A-Za-z][\w.-]*", line)) for line in f[0]] for f in found]
    assert set(kinds[0]) == set(kinds[1])
