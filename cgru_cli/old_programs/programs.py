"""Programs of Marian, Nematus and DL4MT, and the `cgru` that does what each did.

A script names them below a folder of its own, as `$MARIAN/build/marian-decoder` or
`python $nematus/nematus/translate.py`. Nematus on Theano and Marian lie in the folder itself;
Nematus on TensorFlow, whose translate.py has another search and another output, and DL4MT, whose
build_dictionary.py writes pickles, have a folder each.
"""

from __future__ import annotations

_VOCABULARY = ("prep", "--vocabulary-only", "--compat")

MARIAN = {
    "marian": ("train", "--compat", "marian"),
    "marian-decoder": ("translate", "--compat", "marian"),
    "marian-scorer": ("score", "--compat", "marian"),
    "marian-vocab": (*_VOCABULARY, "marian"),
    "s2s": ("translate", "--compat", "marian"),  # the decoder's name in versions before 1.0
    "amun": ("translate", "--compat", "amun"),
}
# `marian decode ...` is `marian-decoder ...`, and `marian ...` trains.
MARIAN_COMMANDS = {
    "train": MARIAN["marian"],
    "decode": MARIAN["marian-decoder"],
    "score": MARIAN["marian-scorer"],
    "vocab": MARIAN["marian-vocab"],
}


def _nematus(program: str) -> dict[str, tuple[str, ...]]:
    return {
        "nematus/nmt.py": ("train", "--compat", program),
        "nematus/train.py": ("train", "--compat", program),
        "nematus/translate.py": ("translate", "--compat", program),
        "nematus/score.py": ("score", "--compat", program),
        "nematus/rescore.py": ("score", "--compat", program),
        "data/build_dictionary.py": (*_VOCABULARY, program),
    }


def _dl4mt() -> dict[str, tuple[str, ...]]:
    programs: dict[str, tuple[str, ...]] = {"data/build_dictionary.py": (*_VOCABULARY, "dl4mt")}
    types = {"session1": ("--type", "encdec"), "session2": (), "session3": ()}
    for session, network in types.items():
        programs[f"{session}/nmt.py"] = ("train", "--compat", "dl4mt", *network)
        programs[f"{session}/translate.py"] = ("translate", "--compat", "dl4mt")
    programs["session3/rescore_with_lm.py"] = ("score", "--compat", "dl4mt")
    programs["session0/lm.py"] = ("train", "--compat", "dl4mt", "--type", "lm")
    return programs


def _below(folder: str, programs: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {f"{folder}/{name}": command for name, command in programs.items()}


# path in the folder -> command and options of cgru
PROGRAMS = {
    **MARIAN,
    **_below("build", MARIAN),
    **_below("bin", {"amun": MARIAN["amun"]}),
    **_below("build/bin", {"amun": MARIAN["amun"]}),
    **_nematus("nematus"),
    "nematus/train.py": ("train", "--compat", "nematus-tf"),  # the Theano version has nmt.py alone
    **_below("nematus-tf", _nematus("nematus-tf")),
    **_below("dl4mt", _dl4mt()),
}
# Nematus' own are a package: `from nematus.nmt import train`.
PACKAGES = ("nematus", "nematus-tf/nematus")
HINT = "MARIAN={0} nematus={0} (on TensorFlow: nematus={0}/nematus-tf) dl4mt={0}/dl4mt"

# Modules whose `train(...)` scripts import.
TRAINERS = ("nmt.py", "lm.py")
# What `nmt.train(...)` takes by another name than `nmt.py` does, and what it does by default.
OPTIONS_OF_TRAIN = {
    "saveto": "model", "reload_": "reload",
    # of a language model, which reads one text
    "dataset": "train-sets", "valid_dataset": "valid-sets", "dictionary": "vocabs",
}  # fmt: skip
OFF_IN_TRAIN = {
    "shuffle_each_epoch": "no_shuffle",
    "sort_by_length": "no_sort_by_length",
    "reload_training_progress": "no_reload_training_progress",
}
DEFAULTS_OF_TRAIN = {"nematus": {"batch_size": 16, "valid_batch_size": 16, "clip_c": -1}}
