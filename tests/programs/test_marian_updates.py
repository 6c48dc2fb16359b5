"""Costs of a few updates by Marian (pymarian) and by cgru, from the same weights.

A mini-batch has the whole text, so that the order of pairs does not matter.
"""

import re
import subprocess

import pytest
import runs
from selection import choice
from whole_scripts import PYMARIAN, model_folder

pytestmark = pytest.mark.long


OPTIONS = (
    "--type s2s --pretrained-model model.npz -t src.txt trg.txt -v vocab.en.json vocab.de.json "
    "--dim-emb 72 --dim-rnn 128 --mini-batch 20 --maxi-batch 1 --no-shuffle --disp-freq 1 --seed 1 "
    "--cost-type ce-mean-words --valid-sets src.txt trg.txt --valid-metrics ce-mean-words "
    "--valid-freq 1u --overwrite "
)
DECAY = "--lr-decay 0.5 --lr-decay-strategy batches --lr-decay-start 2 --lr-decay-freq 9"
# options of runs, each of which resumes the previous one
CASES = {
    "sum": ["-l 0.003"],
    "mean": ["-l 0.003 --normalize-gradient"],
    "reference": ["-l 0.003 --mini-batch-words-ref 100 --exponential-smoothing 0.01"],
    "smoothed": ["-l 0.003 --exponential-smoothing 0.01"],
    "sgd": ["-l 0.1 --optimizer sgd"],
    "adagrad": ["-l 0.01 --optimizer adagrad --exponential-smoothing 0.01"],
    "epsilon": ["-l 0.01 --optimizer adagrad --optimizer-params 1e-2"],
    "reset": [f"-l 0.003 {DECAY} --lr-decay-reset-optimizer"],
    "resumed": ["-l 0.003 --exponential-smoothing 0.01 --after 2u", "-l 0.003 "
                "--exponential-smoothing 0.01 --no-optimizer-reload --no-restore-corpus"],
}  # fmt: skip
COST = re.compile(r" : (?:Cost|ce-mean-words :) ([\d.]+)")


@pytest.mark.parametrize("name", choice(CASES, "reference"))
def test_costs_are_those_of_marian(tmp_path, monkeypatch, name):
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    monkeypatch.chdir(model_folder(tmp_path / "case", "marian-s2s", lines=20))
    (tmp_path / "case/theirs").mkdir()
    for number, more in enumerate(CASES[name]):
        options = f"{OPTIONS} {more}".split()
        options += [] if "--after" in options else ["--after", "5u"]
        command = [PYMARIAN, "train", "-m", "theirs/model.npz", *options, "--cpu-threads", "1"]
        theirs = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        ours = runs.trained("--compat", "marian", "-m", "ours/model.npz", *options).messages
        costs = [list(map(float, COST.findall(log))) for log in (ours, theirs)]
        assert len(costs[0]) >= 4
        assert costs[0] == pytest.approx(costs[1], rel=0.01), number
