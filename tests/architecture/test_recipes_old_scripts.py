"""The recipe that runs whole published scripts, and its stand-ins for the tools they call."""

import os
import re
import subprocess

import prepared
import pytest
from documentation import ROOT
from selection import choice
from shared_files import SHARED, need
from whole_scripts import write_old_programs

pytestmark = pytest.mark.long


FOLDER = ROOT / "recipes/old-scripts"
PAIRS, TESTS = 300, 4
# Lines that run only after an error, with arguments, or when a model is good.
ONLY_SOMETIMES = re.compile(
    r'exit 1|GPUS=\$@|EXT=\.exe|echo "(marian|amun|missing|new best).*|echo \$BLEU .*|cp \$.*best.*'
)
# name: folder, scripts, and the files that they write with a line for each line of the test text
WHOLE = {
    "nematus": (
        "nematus",
        "test/test_train.sh",
        "",
    ),
    "more of nematus": (
        "nematus",
        "test/test_train.sh test/test_train_reload.sh test/test_train_summaries.sh "
        "test/test_train_l2_loss.sh test/test_train_mapl2_loss.sh "
        "test/test_train_outputactivations.sh",
        "",
    ),
    "amun": (
        "marian-examples",
        "translating-amun/run-me.sh",
        "data/newstest2015.single.out data/newstest2015.ensemble.out",
    ),
    "basics": (
        "marian-examples",
        "training-basics/run-me.sh",
        "data/newsdev2016.ro.output data/newstest2016.ro.output",
    ),
    "sentencepiece": (
        "marian-examples",
        "training-basics-sentencepiece/run-me.sh",
        "data/newsdev2016.ro.output data/newstest2016.ro.output",
    ),
    "uedin": (
        "marian-examples",
        "wmt2017-uedin/run-me.sh",
        "data/valid.en.output data/test2014.en.output data/test2015.en.output "
        "data/test2017.en.output",
    ),
    "transformer": (
        "marian-examples",
        "wmt2017-transformer/run-me.sh",
        "data/valid.en.output data/test2014.en.output data/test2015.en.output "
        "data/test2017.en.output",
    ),
    "wmt16": (
        "wmt16-scripts",
        "sample/download_files.sh sample/preprocess.sh sample/train.sh sample/translate.sh",
        "data/newsdev2016.output",
    ),
}


def run(tmp_path, folder, *scripts):
    """Run scripts of a folder; returns the finished process, and the folder of their copy."""
    work = tmp_path / "o" / folder.name
    work.mkdir(parents=True)
    write_old_programs(work)
    values = {"PATH": prepared.path(), "OUT": str(tmp_path / "o"), "DATA": ""}
    values |= {"PAIRS": str(PAIRS), "TESTS": str(TESTS)}
    done = subprocess.run(
        [FOLDER / "run.sh", folder, *scripts],
        env=os.environ | values, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    return done, work / "copy"


@pytest.mark.parametrize("name", choice(WHOLE, "nematus"))
def test_whole_scripts_run_to_their_end(tmp_path, name):
    for package in ("babel", "num2words", "sacremoses", "subword_nmt"):
        pytest.importorskip(package)
    folder, scripts, texts = WHOLE[name]
    done, copy = run(tmp_path, need(SHARED / "legacy/scripts" / folder), *scripts.split())
    assert (done.returncode, done.stdout.count("no command failed")) == (0, len(scripts.split()))
    for script in scripts.split():
        assert re.search(rf"^{script}: \d+ of \d+ lines$", done.stdout, re.M)
    missing = re.findall(r"^  not run: (.*)$", done.stdout, re.M)
    assert [line for line in missing if not ONLY_SOMETIMES.fullmatch(line)] == []
    place = copy / scripts.split("/")[0]
    for text in texts.split():
        assert (place / text).read_bytes().count(b"\n") == TESTS, text


def test_the_page_prints_the_substitutions():
    page = (FOLDER / "README.md").read_text("utf-8")
    assert f"\n```sed\n{(FOLDER / 'substitutions.sed').read_text('utf-8')}```\n" in page


SCRIPT = """#!/bin/bash
wget -q -nc http://data/europarl/v7/de-en.tgz
curl -sSL -o own.txt https://example.org/some/own.txt
wget -qO- http://data/news.2016.de.shuffled.gz | zcat > news.de
curl -s https://example.org/some/own.txt | cat - news.de > both
tar -xf de-en.tgz
if [ ! -e europarl-v7.de-en.en ]; then
    echo "no text"
fi
git clone https://github.com/rsennrich/subword-nmt
git clone https://github.com/marian-nmt/sacreBLEU
cat europarl-v7.de-en.en \\
    | $mosesdecoder/scripts/tokenizer/tokenizer.perl -a -l en \\
    | subword-nmt/learn_bpe.py -s 2 > codes
sacreBLEU/sacrebleu.py -t wmt16 -l de-en --echo ref \\
    | sacreBLEU/sacrebleu.py -t wmt16 -l de-en
$mosesdecoder/scripts/generic/multi-bleu.perl data/long.en < data/long.en
make -j 4 && nvidia-smi
number=$(expr 1 - 1)
false
cut -f 2 data/corpus.conll.en | awk -v RS="" '{$1=$1}7' \\
    | $mosesdecoder/scripts/tokenizer/escape-special-chars.perl > words
sed 's/ /|x /' words > factors
$mosesdecoder/scripts/training/reduce-factors.perl --corpus factors --reduced-corpus 0 --factor 0
echo "--dim_word 256, $# arguments" > sizes
"""


def test_stand_ins_and_the_report(tmp_path):
    """A script that fails in one line, on text and a file of DATA."""
    for package in ("sacremoses", "subword_nmt"):
        pytest.importorskip(package)
    folder, data = tmp_path / "some-scripts", tmp_path / "data"
    (folder / "it/data").mkdir(parents=True)
    data.mkdir()
    (folder / "it/run.sh").write_text(SCRIPT)
    long = "".join(f"A red house with number {i}.\n" for i in range(10))
    (folder / "it/data/long.en").write_text(long)
    (folder / "it/data/corpus.conll.en").write_text("1\tA\t_\n2\t'm\t_\n\n" * 9)
    for part in ("train", "val", "test_2016_flickr"):
        for language in ("en", "de"):
            (data / f"{part}.{language}").write_text(f"{part} {language} is-well well\n" * 500)
    (data / "own.txt").write_text("own\n")
    work = tmp_path / "o/some-scripts"
    work.mkdir(parents=True)
    write_old_programs(work)
    values = {"PATH": prepared.path(), "OUT": "o", "DATA": "data", "PAIRS": "7", "TESTS": "3"}
    done = subprocess.run(
        [FOLDER / "run.sh", "some-scripts", "it/run.sh"],
        cwd=tmp_path, env=os.environ | values, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    *_, report = done.stdout.partition("it/run.sh: ")
    assert (
        report == '18 of 19 lines\n  not run: echo "no text"\nrun.sh: line 20: exit code 1: false\n'
    )
    place = work / "copy/it"
    assert (place / "europarl-v7.de-en.de").read_text() == "train de is-well well\n" * 7
    assert (place / "own.txt").read_text() == "own\n"
    assert (place / "both").read_text() == "own\n" + "train de is-well well\n" * 7
    assert (place / "data/long.en").read_text() == "".join(long.splitlines(True)[:3])
    assert (place / "codes").read_text().splitlines()[1:] == ["w e", "we l"]
    assert (place / "sizes").read_text() == "--dim_word 16, 0 arguments\n"
    assert (place / "words").read_text() == "A &apos;m\n" * 7
    assert (place / "factors").read_text() == "A|x &apos;m\n" * 7
    assert (place / "0").read_text() == "A &apos;m\n" * 7
    assert done.stdout.count("100.0/100.0/100.0/100.0") == 2
    assert (folder / "it/run.sh").read_text() == SCRIPT
    assert (folder / "it/data/long.en").read_text() == long


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["here"], "usage: "),
        (["here", "no.sh"], "here/no.sh: no such script"),
        (["nowhere", "no.sh"], "nowhere: No such file"),
        ([".", "here/it.sh"], "/old-scripts is inside the folder of the scripts"),
    ],
)
def test_wrong_arguments(tmp_path, arguments, message):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/it.sh").touch()
    environment = os.environ | {"PATH": prepared.path()}
    done = subprocess.run(
        [FOLDER / "run.sh", *arguments],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == (2 if message == "usage: " else 1)
    assert message in done.stderr and done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
