"""Random weights of new models: Marian (pymarian) and cgru draw from the same distributions."""

import subprocess

import numpy as np
import pytest
import runs
from selection import choice
from whole_scripts import PYMARIAN

from cgru_cli.formats import read_model
from cgru_cli.parameters.initialization import initial_arrays

pytestmark = pytest.mark.long


MODELS = {
    "plain": ["--type", "s2s"],
    "deep": ["--type", "s2s", "--enc-depth", 2, "--dec-depth", 2, "--skip", "--tied-embeddings"],
    "shared": ["--type", "s2s", "--tied-embeddings-src", "--layer-normalization"],
    "amun": ["--type", "amun"],
}


@pytest.mark.parametrize("name", choice(MODELS, "plain"))
def test_weights_are_distributed_as_marians(tmp_path, name):
    """Uniform, so the largest weight is just below the limit."""
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    data = runs.prepared(tmp_path / "data", pairs=30)
    source, words = data / "train.src", data / "vocab.src.json"
    command = ["train", "-m", tmp_path / "m.npz", "-t", source, source, "-v", words, words]
    command += ["--dim-emb", 24, "--dim-rnn", 40, *MODELS[name], "--after", "1u", "-l", 1e-9]
    subprocess.run(
        [PYMARIAN, *map(str, command), "--seed", "1", "-w", "64", "--cpu-threads", "1", "--quiet"],
        check=True,
    )
    model = read_model.read(tmp_path / "m.npz")
    ours = initial_arrays(model.structure, "glorot", 2)
    for name, theirs in model.arrays.items():
        if theirs.std() < 1e-6:
            np.testing.assert_allclose(ours[name], theirs, atol=1e-6, err_msg=name)
        else:
            limits = np.abs(theirs).max(), np.abs(ours[name]).max()
            assert limits[1] == pytest.approx(limits[0], rel=20 / theirs.size), name
