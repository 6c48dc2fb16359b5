"""--throw-on-divergence: Marian (pymarian) and cgru stop at the same update."""

import re
import subprocess

import pytest
import runs
import yaml
from whole_scripts import PYMARIAN

pytestmark = pytest.mark.long


EASY = 60  # pairs that are learned before others appear, six per update
FIXED = (
    "--type s2s --enc-cell tanh --dec-cell tanh --dim-emb 6 --dim-rnn 8 -l 0.01 --mini-batch 6 "
    "--maxi-batch 1 --shuffle none --disp-freq 1u --seed 3 --save-freq 1000u --overwrite "
    "--throw-on-divergence 8 2 0.9f"
)
AVERAGES = ("loss-avg-slow", "loss-avg-fast", "loss-var-slow")


@pytest.mark.exhaustive
def test_training_stops_where_marians_does(tmp_path):
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    data = runs.prepared(tmp_path / "data", pairs=60)
    files = [data / f"train.{side}" for side in ("src", "trg")]
    for path, easy in zip(files, ("w1 w2", "W1 W2"), strict=True):
        runs.lines(path, [easy] * EASY + path.read_text().splitlines())
    words = [data / f"vocab.{side}.json" for side in ("src", "trg")]
    given = ["-t", *files, "-v", *words, *FIXED.split()]
    (tmp_path / "marian").mkdir()

    def marian(*more):
        command = [PYMARIAN, "train", *given, "-w", 64, "--cpu-threads", 1, *more]
        return subprocess.run([*map(str, command)], capture_output=True, text=True)

    first = tmp_path / "marian/first.npz"
    assert marian("-m", first, "--after", "1u").returncode == 0
    given += ["--pretrained-model", first]
    done = marian("-m", tmp_path / "marian/m.npz", "--after", "20u")
    assert done.returncode and "Detected training divergence" in done.stderr
    ends = max(map(int, re.findall(r"Up\. (\d+)", done.stderr))) + 1
    assert EASY / 6 < ends < 20
    ours = tmp_path / "ours/m.npz"
    ended = runs.train("--compat", "marian", "-m", ours, *given, "--after", "20u")
    assert ended.code == 1 and "the cost rises: its mean of the last 2 updates, " in ended.error
    assert f"(epoch 1, update {ends}); the model is not written" in ended.error

    before = "--after", f"{ends - 1}u"
    assert marian("-m", tmp_path / "marian/n.npz", *before).returncode == 0
    runs.trained("--compat", "marian", "-m", tmp_path / "ours/n.npz", *given, *before)
    theirs, mine = (
        yaml.safe_load((tmp_path / name / "n.npz.progress.yml").read_text())
        for name in ("marian", "ours")
    )
    assert [mine[n] for n in AVERAGES] == pytest.approx([theirs[n] for n in AVERAGES], rel=1e-3)
    # a resumed run continues the averages
    ended = runs.train(
        "--compat", "marian", "-m", tmp_path / "ours/n.npz", *given, "--after", "20u"
    )
    assert f"(epoch 1, update {ends}); the model is kept as it was after update" in ended.error
