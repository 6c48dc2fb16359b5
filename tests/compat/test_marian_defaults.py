"""Marian's own defaults, as it prints them, and those of its table."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import yaml
from command_lines import parsed

from cgru_cli.compat.row import as_typed
from cgru_cli.compat.tables import table_of
from cgru_cli.options import config_file

PYMARIAN = shutil.which("pymarian") or Path(sysconfig.get_path("scripts")) / "pymarian"


def test_every_default_of_marian_is_in_the_table(tmp_path):
    if not Path(PYMARIAN).exists():
        pytest.skip("pymarian is not installed")
    note = subprocess.run(
        [PYMARIAN, "train", "--dump-config", "full"], cwd=tmp_path, capture_output=True, check=True
    )
    defaults = yaml.safe_load(note.stdout)
    assert len(defaults) > 200
    rows = {row.name: row for row in table_of("marian", "train").rows}
    different = {}
    for name, default in defaults.items():
        if name == "version":
            continue
        known = tuple(value for value in rows[name].default if value)
        if known != tuple(value for value in as_typed(default) if value):
            different[name] = (known, default)
    assert different == {}


NOTHING = {"", "false"}
# Defaults of `cgru train --compat marian` that are not Marian's, and why.
ANOTHER = {
    "valid-metrics": "cross-entropy where there is text to validate on",
    "lr-decay-strategy": "without --lr-decay there is none",
    "lr-decay-start": "without --lr-decay there is none",
    "lr-decay-freq": "without --lr-decay there is none",
    "max-length": "Marian counts EOS",
    "valid-max-length": "Marian counts EOS",
    "dim-vocabs": "0, all words, is what nothing says here",
    "devices": "GPU 0 is what there is on most machines",
    "cpu-threads": "0 is Marian's word for a GPU",
    "guided-alignment": "none is an empty list here",
}


def test_what_a_training_as_marians_does_by_default(tmp_path):
    if not Path(PYMARIAN).exists():
        pytest.skip("pymarian is not installed")
    note = subprocess.run(
        [PYMARIAN, "train", "--dump-config", "full"], cwd=tmp_path, capture_output=True, check=True
    )
    theirs = yaml.safe_load(note.stdout)
    options = parsed("train", "--compat", "marian")
    ours = yaml.safe_load(config_file.dump(options))
    different = {
        name
        for name in theirs.keys() & ours.keys()
        if set(as_typed(theirs[name])) - NOTHING != set(as_typed(ours[name])) - NOTHING
    }
    assert different == ANOTHER.keys()
