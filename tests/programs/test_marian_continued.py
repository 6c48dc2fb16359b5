"""Trainings that Marian (pymarian) begins and cgru continues, and the reverse.

Each has the costs of a training by one program alone. Pairs are read in order, one mini-batch at a
time, because the programs shuffle differently.
"""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import runs
import yaml
from selection import choice
from whole_scripts import PYMARIAN

from cgru_cli.formats import array_files, read_model
from cgru_cli.formats.marian_optimizer import read, write

pytestmark = pytest.mark.long


KINDS = {
    "s2s": "--type s2s --enc-cell tanh --dec-cell tanh --lr-warmup 150 --valid-freq 50u "
    "--valid-metrics cross-entropy perplexity",
    "amun": "--type amun --layer-normalization --optimizer-params 0.9 0.98 1e-09",
    "deep": "--type s2s --tied-embeddings --enc-depth 2 --enc-type alternating --skip "
    "--exponential-smoothing 0.01",
    "adagrad": "--type s2s --optimizer adagrad --exponential-smoothing 0.01 "
    "--valid-freq 50u --valid-metrics cross-entropy",
    "sgd": "--type s2s --optimizer sgd --embedding-fix-src",
}
FIXED = (
    "--dim-emb 6 --dim-rnn 8 --mini-batch 6 --maxi-batch 1 --shuffle none --disp-freq 10u "
    "--save-freq 1000u --overwrite --seed 3"
)


class Folder:
    """A folder in which models train; both programs get the same options."""

    def __init__(self, path, options):
        data = runs.prepared(path, pairs=70)
        texts = [[data / f"{name}.{side}" for side in ("src", "trg")] for name in ("train", "dev")]
        words = [data / f"vocab.{side}.json" for side in ("src", "trg")]
        self.path = path
        self.given = ["-t", *texts[0], "-v", *words, *FIXED.split(), *options.split()]
        rate = 0.05 if "adagrad" in options else 0.002  # Adagrad's steps become small
        self.given += ["--learn-rate", rate]
        if "--valid-freq" in options:
            self.given += ["--valid-sets", *texts[1]]

    def train(self, model, *programs):
        """Train in turns until the 100th and the 200th update; returns the costs in the log."""
        path = self.path / model / "m.npz"
        path.parent.mkdir()
        given = ["-m", path, *self.given, "--log", self.path / f"{model}.log"]
        for program, limit in zip(programs, ("100u", "200u")[-len(programs) :], strict=True):
            if program == "marian":
                ours = Path(f"{path}.yml")  # this file has all options if cgru began
                given = ["-c", ours] if ours.exists() else given
                command = [PYMARIAN, "train", *given, "-w", 64, "--cpu-threads", 1, "--quiet"]
                subprocess.run([*map(str, command), "--after", limit], check=True)
            else:
                runs.trained("--compat", "marian", *given, "--after", limit, "--quiet")
        log = (self.path / f"{model}.log").read_text()
        return [float(cost) for cost in re.findall(r" : (?:Cost|cross-entropy :) ([\d.]+)", log)]


@pytest.mark.parametrize(
    "programs", choice([["cgru", "marian"], ["marian", "cgru"]], ["cgru", "marian"])
)
@pytest.mark.parametrize("name", choice(KINDS, "s2s"))
def test_either_program_continues_the_others_training(tmp_path, name, programs):
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    folder = Folder(tmp_path / "all", KINDS[name])
    first = programs[0]
    alone = folder.train(first, first)
    tolerance = 5e-3 if name == "amun" else 1e-3  # layer normalisation enlarges rounding
    assert folder.train("both", *programs) == pytest.approx(alone, rel=tolerance)
    assert len(alone) == (20 + 4 * ("valid" in KINDS[name]))
    if first == "marian":
        return
    # the state of cgru in the folder is older than Marian's
    path = tmp_path / "all/both/m.npz"
    said = runs.trained("--compat", "marian", "-m", path, *folder.given, "--after", "201u").messages
    assert "Resuming after update 200" in said
    assert yaml.safe_load(Path(f"{path}.progress.yml").read_bytes())["batches"] == 201


def test_the_log_says_where_the_optimizer_begins_anew(tmp_path):
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    folder = Folder(
        tmp_path / "all",
        "--type nematus --layer-normalization --enc-cell gru-nematus --dec-cell gru-nematus",
    )
    path = tmp_path / "m.npz"
    given = [*map(str, ["-m", path, *folder.given, "--after"])]
    command = [PYMARIAN, "train", *given, "1u", "-w", "64", "--cpu-threads", "1", "--quiet"]
    subprocess.run(command, check=True)
    said = runs.trained("--compat", "marian", *given, "2u").messages
    assert "] The optimizer starts afresh: no state in Marian's format for this model\n" in said


def test_marians_optimizer_is_written_as_it_was_read(tmp_path):
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    folder = Folder(tmp_path / "all", KINDS["deep"])
    folder.train("m", "marian")
    path = tmp_path / "all/m/m.npz.optimizer.npz"
    model = read_model.read(tmp_path / "all/m/m.npz")
    state = read(path, model, (0.9, 0.999))
    assert state.updates == 200 and {"adam_mt", "adam_vt", "exp_smoothing"} == {*state.sums}
    for name, array in state.sums["exp_smoothing"].items():
        assert (array == model.arrays[name]).all()
    write(tmp_path / "again.npz", model, "marian-s2s", state, (0.9, 0.999))
    one, two = (array_files.read_npz(file) for file in (path, tmp_path / "again.npz"))
    assert one.keys() == two.keys()
    for name in one:
        tolerance = 1e-4 if name == "adam_denoms" else 0
        np.testing.assert_allclose(one[name], two[name], rtol=tolerance, atol=0, err_msg=name)


def test_a_training_of_marian_1_10_continues(tmp_path):
    """It has no averages of gradient norms, and the weights only in the model."""
    folder = Folder(tmp_path / "all", "--type s2s")
    path = tmp_path / "all/m.npz"
    given = ["--compat", "marian", "-m", path, *folder.given]
    runs.trained(*given, "--after", "2u")
    for own in path.parent.glob("m.npz.state*"):
        own.unlink()
    progress, optimizer = Path(f"{path}.progress.yml"), Path(f"{path}.optimizer.npz")
    values = yaml.safe_load(progress.read_bytes())
    new = [name for name in values if name.startswith(("loss-", "gradient-", "log-gradient-"))]
    progress.write_text(yaml.safe_dump({k: v for k, v in values.items() if k not in new}))
    arrays = array_files.read_npz(optimizer)
    del arrays["master_parameters"]
    np.savez(optimizer, **arrays)
    model, original = read_model.read(path), Path(f"{path}.orig.npz")
    assert "exp_smoothing" not in read(optimizer, model, (0.9, 0.999)).sums
    original.write_bytes(path.read_bytes())  # with smoothing, the weights before it
    smoothed = read(optimizer, model, (0.9, 0.999))
    assert smoothed.sums["exp_smoothing"] is model.arrays
    assert (smoothed.weights["Wemb"] == model.arrays["Wemb"]).all()
    original.unlink()
    said = runs.trained(*given, "--after", "4u").messages
    assert len(new) == 7 and "Resuming after update 2" in said
