"""The shortlist recipe: its table has the shares of the links, and works as a shortlist."""

import gzip
import subprocess
import sys

import pytest
from documentation import ROOT

from cgru_cli.formats.shortlist import Shortlist
from cgru_cli.text.unknown_words import read_lexicon
from cgru_cli.text.vocabulary import Vocabulary

pytestmark = pytest.mark.long


SCRIPT = ROOT / "recipes/shortlist/lexical_table.py"


def count(folder, alignments):
    with gzip.open(folder / "src.gz", "wt") as file:
        file.write("a b\nb a a\n")
    (folder / "trg").write_text("A B\nB A\n")
    (folder / "links").write_text(alignments)
    files = [folder / "src.gz", folder / "trg", folder / "links"]
    return subprocess.run([sys.executable, SCRIPT, *files], capture_output=True, text=True)


@pytest.mark.parametrize("score", ["", "-1.5 ||| "])
def test_a_table_has_the_shares_of_a_words_links(tmp_path, score):
    done = count(tmp_path, f"{score}0-0 1-1 2-2\n{score}0-0 1-1 2-1 2-0\n")
    assert (done.returncode, done.stderr) == (0, "")
    table = {tuple(line.split()[:2]): float(line.split()[2]) for line in done.stdout.splitlines()}
    assert table == {("A", "a"): 0.75, ("B", "b"): 1.0, ("B", "a"): 0.25}
    path = tmp_path / "lex.s2t"
    path.write_text(done.stdout)
    assert read_lexicon(path) == {"a": "A", "b": "B"}
    source = Vocabulary({"eos": 0, "UNK": 1, "a": 2, "b": 3})
    target = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", *"CDEFGHIJKLMNOAB"])})
    assert {15, 16} <= set(Shortlist.read(str(path), source, target, 2, 2).of_words([2]).tolist())


@pytest.mark.parametrize(
    ("alignments", "message"),
    [("0-0\n5-0\n", "line 2: link 5-0"), ("0-x\n\n", "line 1: '0-x'"), ("0-0\n", "shorter")],
)
def test_links_outside_the_sentence_are_errors(tmp_path, alignments, message):
    done = count(tmp_path, alignments)
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr
