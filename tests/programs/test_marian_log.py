"""The log of a training by Marian (pymarian) and by cgru: the same lines, with the same numbers.

The options of the decoder, which both write beside the model, are the same too.
"""

import re
import subprocess
from pathlib import Path

import pytest
import runs
import yaml
from selection import choice
from whole_scripts import PYMARIAN

pytestmark = pytest.mark.long


# Lines of one program only: its version, memory, threads, and how it reads text.
OF_ONE = re.compile(
    r"\[(marian|comm|memory|logits)\]|\[config\] (Model is|Loaded model|cpu-threads|workspace)|"
    r"\[data\] (Shuffling|Done|Using|Loading)|"
    r"\[training\] (Using|Batches|Initializing|[\d,]+ parameters)|Parameter type|Allocating memory|"
    r"No checkpoint|\[valid\] (References|First sentence|Default|  )"
)
SPEED = re.compile(r"Time .* words/s|(?<=time: ).*|(?<=gNorm )\S+|\S+(theirs|ours)(?=/m\.npz)")
FIXED = (
    "--type s2s --dim-emb 6 --dim-rnn 8 -l 0.002 --mini-batch 6 --maxi-batch 1 --shuffle none "
    "--seed 3 --enc-cell tanh --dec-cell tanh --overwrite --keep-best --save-freq 40u "
    "--disp-freq 15u --valid-freq 40u "
)
RUNS = {
    "updates": "--after 100u --valid-metrics cross-entropy perplexity bleu",
    "epochs": "--after-epochs 5 --valid-metrics bleu --quiet-translation --lr-report "
    "--disp-first 2",
    "words": "--logical-epoch 10u --after-epochs 2 --valid-metrics ce-mean-words "
    "--cost-type ce-mean-words",
}


def lines(log):
    """The lines of both programs, without times."""
    texts = [line.partition("] ")[2] for line in log.splitlines()]
    return [SPEED.sub("#", text) for text in texts if text and not OF_ONE.match(text)]


def same_number(one, other):
    return one == other or float(one.replace(",", "")) == pytest.approx(
        float(other.replace(",", "")), rel=5e-3, abs=0.05
    )


@pytest.mark.parametrize("name", choice(RUNS, "updates"))
def test_the_log_is_marians(tmp_path, name):
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    data = runs.prepared(tmp_path, pairs=70, dev=12)
    texts, dev = ([data / f"{n}.{side}" for side in ("src", "trg")] for n in ("train", "dev"))
    words = [data / f"vocab.{side}.json" for side in ("src", "trg")]
    given = ["-t", *texts, "-v", *words, "--valid-sets", *dev, *FIXED.split()]

    def marian(model, *more):
        model.parent.mkdir(exist_ok=True)
        command = [PYMARIAN, "train", "-m", model, *given, "-w", 64, "--cpu-threads", 1, *more]
        return subprocess.run(
            [*map(str, command)], capture_output=True, text=True, check=True
        ).stderr

    marian(tmp_path / "first/m.npz", "--after", "1u")
    given += ["--pretrained-model", tmp_path / "first/m.npz", *RUNS[name].split()]
    theirs = lines(marian(tmp_path / "theirs/m.npz"))
    (tmp_path / "ours").mkdir()
    ours = lines(runs.trained("--compat", "marian", "-m", tmp_path / "ours/m.npz", *given).messages)
    number = re.compile(r"(?<=[ (])[\d,.]*\d(?=[ )]|$)")
    masked = [number.sub("#", "\n".join(log)) for log in (ours, theirs)]
    assert masked[0] == masked[1]
    for mine, other in zip(ours, theirs, strict=True):
        pairs = zip(number.findall(mine), number.findall(other), strict=True)
        assert all(same_number(*pair) for pair in pairs), (mine, other)
    assert decoding(tmp_path / "ours") == decoding(tmp_path / "theirs")


def decoding(folder):
    """The file of the decoder's options, with the names of files that exist."""
    values = yaml.safe_load((folder / "m.npz.decoder.yml").read_bytes())
    for key in ("models", "vocabs"):
        paths = [Path(name) for name in values[key]]
        assert all(path.exists() for path in paths)
        values[key] = [path.name for path in paths]
    return values
