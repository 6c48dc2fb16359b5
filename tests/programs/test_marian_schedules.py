"""Learning rates and batch sizes in the logs of Marian (pymarian) and cgru."""

import re
import subprocess

import pytest
import runs
from selection import choice
from whole_scripts import PYMARIAN

pytestmark = pytest.mark.long


SMALL = ("--disp-freq", 1, "--lr-report", "--seed", 1, "--save-freq", 100)
WARM = ("--mini-batch", 6, "--lr-warmup", 4, "-l", 0.1)
STEPS = ("--lr-decay-strategy", "batches", "--lr-decay-freq", 6)
# options of runs, each of which resumes the previous one
RUNS = {
    "words": [("--mini-batch-warmup", "4000t", "--mini-batch", 64, "--after", "10u")],
    "batches": [("--mini-batch-warmup", 8, "--mini-batch", 64, "--after", "10u")],
    "cycle": [(*WARM, "--lr-warmup-cycle", "--after", "14u")],
    "reload": [(*WARM, "--after", "6u"), (*WARM, "--lr-warmup-at-reload", "--after", "12u")],
    "decay": [
        (*WARM, *STEPS, "--lr-decay", 0.5, "--lr-decay-start", 5, "--lr-decay-repeat-warmup",
         "--lr-decay-reset-optimizer", "--lr-warmup-start-rate", 0.01, "--after", "17u")
    ],
}  # fmt: skip
LINE = re.compile(r"] (Ep\. .*|Decaying .*|Resetting .*|Restarting .*)")


def lines(log):
    """The lines about updates and rates, without costs, speed and norms."""
    found = LINE.findall(log)
    return [re.sub(r"Cost .* : L", "L", line) for line in found]


@pytest.mark.parametrize("name", choice(RUNS, "decay"))
def test_marian_and_cgru_train_by_the_same_rates(tmp_path, name):
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    data = runs.prepared(tmp_path / "data", pairs=30)
    if "--mini-batch-warmup" in RUNS[name][0]:  # all mini-batches have the same number of words
        for side, word in (("src", "w1"), ("trg", "W1")):
            runs.lines(data / f"train.{side}", [" ".join([word] * 12)] * 128)
    vocabularies = [data / f"vocab.{side}.json" for side in ("src", "trg")]
    texts = "-t", data / "train.src", data / "train.trg", "-v", *vocabularies, *SMALL
    for number, options in enumerate(RUNS[name]):
        command = ["train", "-m", tmp_path / "m.npz", "--type", "s2s", *texts, *options]
        command += ["--dim-emb", 6, "--dim-rnn", 8, "--cpu-threads", 1]
        theirs = subprocess.run(
            [PYMARIAN, *map(str, command)], capture_output=True, text=True, check=True
        ).stderr
        kind = "--type", "rnnsearch", "--enc-cell", "tanh", "--dec-cell", "tanh"
        given = *texts, *options, *kind, "--dim-emb", 6, "--dim-rnn", 8
        ours = runs.trained("--compat", "marian", "-m", tmp_path / "ours" / "m.npz", *given)
        assert lines(ours.messages) == lines(theirs), number
