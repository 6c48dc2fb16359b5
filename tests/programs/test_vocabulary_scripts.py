"""Whole scripts that make vocabularies with the tools of Marian, Nematus and DL4MT.

Only a path is changed in them. The files are compared byte by byte with Marian's own, or with the
definition of the other dictionaries: the end of the sentence, the unknown word, then words by
decreasing frequency.
"""

import json
import pickle
from collections import Counter

import pytest
from selection import choice
from whole_scripts import model_folder, run

pytestmark = pytest.mark.long


# scripts of marian-examples
MARIAN = {
    # wmt2017-uedin: a common vocabulary, cut
    "common": "cat src.txt trg.txt | $MARIAN/build/marian-vocab --max-size 60 > vocab.yml",
    # training-basics: one for each language
    "of each": "for lang in src trg; do\n"
    "  $MARIAN/build/marian-vocab < $lang.txt > vocab.$lang.yml\ndone\n"
    "cat vocab.src.yml vocab.trg.yml > vocab.yml",
    # transformer-intro: from a compressed corpus
    "compressed": "cat src.txt trg.txt | gzip > corpus.gz\n"
    "zcat corpus.gz | $MARIAN/build/marian-vocab > vocab.yml",
    "found or made": "if [ ! -e vocab.yml ]; then\n"
    "  cut -d ' ' -f 1-5 trg.txt | $MARIAN/marian-vocab -m 40 > vocab.yml\nfi",
    "of characters": "sed 's/ /_/g;s/./& /g' src.txt | $MARIAN/marian-vocab > vocab.yml",
}
# name: (script, its dictionaries and their texts)
DICTIONARIES = {
    # wmt16-scripts/sample/preprocess.sh
    "both": (
        "$nematus/data/build_dictionary.py src.txt trg.txt",
        {"src.txt.json": ["src.txt"], "trg.txt.json": ["trg.txt"]},
    ),
    # wmt17-scripts/training/scripts/preprocess.sh
    "python": (
        "python $nematus/data/build_dictionary.py src.txt\n"
        "cp src.txt.json vocab.json\nrm src.txt.json",
        {"vocab.json": ["src.txt"]},
    ),
    "common": (
        "cat src.txt trg.txt > joint.bpe\npython $nematus/data/build_dictionary.py joint.bpe\n"
        "mv joint.bpe.json vocab.ende.json\nrm joint.bpe",
        {"vocab.ende.json": ["src.txt", "trg.txt"]},
    ),
    "in a loop": (
        "for f in src trg; do python3 $nematus/data/build_dictionary.py $f.txt; done",
        {"src.txt.json": ["src.txt"], "trg.txt.json": ["trg.txt"]},
    ),
    "of DL4MT": (
        "python $dl4mt/data/build_dictionary.py src.txt trg.txt",
        {"src.txt.pkl": ["src.txt"], "trg.txt.pkl": ["trg.txt"]},
    ),
}


@pytest.mark.parametrize("name", choice(MARIAN, "common"))
def test_marians_vocabularies_are_byte_identical(old_programs, marian, tmp_path, name):
    outputs = []
    for programs in (marian, old_programs):
        folder = model_folder(tmp_path / programs.name, "marian-s2s")
        run(MARIAN[name], folder, MARIAN=programs)
        outputs.append((folder / "vocab.yml").read_bytes())
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("version", choice(["", "nematus-tf"], "nematus-tf"))
@pytest.mark.parametrize("name", choice(DICTIONARIES, "both", "of DL4MT"))
def test_dictionaries_are_words_by_frequency(old_programs, tmp_path, name, version):
    script, made = DICTIONARIES[name]
    folder = model_folder(tmp_path / "case", "a-shallow")
    run(script, folder, nematus=old_programs / version, dl4mt=old_programs / "dl4mt")
    special = ("<EOS>", "<GO>", "<UNK>") if version and name != "of DL4MT" else ("eos", "UNK")
    for file, texts in made.items():
        words = " ".join((folder / text).read_text("utf-8") for text in texts).split()
        counted = Counter(words)
        if file.endswith(".pkl"):
            pickled = pickle.loads((folder / file).read_bytes(), encoding="utf-8")
            dictionary = {key: int(value) for key, value in pickled.items()}
        else:
            dictionary = json.loads((folder / file).read_text("utf-8"))
        assert sorted(dictionary.values()) == list(range(len(counted) + len(special)))
        by_number = sorted(dictionary, key=dictionary.get)
        assert tuple(by_number[: len(special)]) == special
        counts = [counted[word] for word in by_number[len(special) :]]
        assert counts == sorted(counts, reverse=True)
        assert set(by_number[len(special) :]) == set(counted)
