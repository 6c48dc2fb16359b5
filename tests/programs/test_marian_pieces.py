"""Numbers of SentencePiece's pieces in a text, as Marian (pymarian) and cgru count them."""

import re
import subprocess

import pytest
import runs
import sentencepiece
from selection import choice
from whole_scripts import PYMARIAN

from cgru_cli.formats.vocabulary_files import read_vocabulary

pytestmark = pytest.mark.long


WORDS = "the Tall tree grows near a river while HE sleeps".split()
CASES = {
    "caps": ("--all-caps-every", 3),
    "pieces": ("--no-spm-encode",),
    "plain": (),
}


@pytest.mark.parametrize("name", choice(CASES, "caps"))
def test_a_text_has_as_many_pieces_as_in_marian(tmp_path, monkeypatch, name):
    if not PYMARIAN.exists():
        pytest.skip("pymarian is not installed")
    monkeypatch.chdir(tmp_path)
    text = [" ".join(WORDS[n % 7 :] + WORDS[: n % 5]) for n in range(20)]
    runs.lines(tmp_path / "text", text)
    sentencepiece.SentencePieceTrainer.train(
        input="text", model_prefix="v", vocab_size=40, eos_id=0, unk_id=1, bos_id=-1,
        minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    (tmp_path / "v.model").rename("v.spm")
    pieces = [read_vocabulary(tmp_path / "v.spm").tokenize(line) for line in text]
    if name == "pieces":
        runs.lines(tmp_path / "text", map(" ".join, pieces))
    options = ["-t", "text", "text", "-v", "v.spm", "v.spm", "--mini-batch", 20, "--after", "2u",
               "--disp-freq", 1, "--dim-emb", 6, "--dim-rnn", 8, *CASES[name]]  # fmt: skip
    command = [PYMARIAN, "train", "-m", "m.npz", "--type", "s2s", "--cpu-threads", 1, *options]
    log = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stderr
    kind = "--type", "rnnsearch", "--enc-cell", "tanh", "--dec-cell", "tanh"
    runs.trained("--compat", "marian", "-m", "ours/m.npz", *options, *kind)
    words = [record["words"] for record in runs.records(tmp_path / "ours/m.npz", "train")]
    theirs = re.findall(r" after ([\d,]+) ", log)
    assert words == [int(number.replace(",", "")) for number in theirs]
    assert words[1] == 2 * words[0]  # the same pairs in each epoch
    plain = sum(map(len, pieces)) + len(text)
    assert (words[0] == plain) is (name != "caps")
