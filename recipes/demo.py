"""A small model through every dialect: `python recipes/demo.py FOLDER` (or `make demo`).

The model is not trained. Its weights are set by hand, so that a conditional GRU of 32 units
translates a few English words into German: one encoder unit per word, units that carry the gender
of the next noun to its article and adjectives, and a counter in encoder and decoder by which the
attention moves on word by word. Small seeded noise fills all other weights, so that an array
which a conversion mixes up would be seen. The exit code is 1 where a translation changes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from cgru_cli.names import parameters
from cgru_cli.options import TO
from cgru_cli.structure import Structure

ARTICLES = {"the": ("der", "die", "das"), "a": ("ein", "eine", "ein")}
NOUNS = {
    "dog": ("Hund", 0), "bird": ("Vogel", 0), "man": ("Mann", 0), "cat": ("Katze", 1),
    "woman": ("Frau", 1), "house": ("Haus", 2), "child": ("Kind", 2),
}  # fmt: skip
ADJECTIVES = {"old": "alt", "small": "klein", "red": "rot", "black": "schwarz"}
OTHERS = {
    "is": "ist", "sleeps": "schläft", "sings": "singt", "laughs": "lacht", "and": "und",
    "here": "hier", "today": "heute", ",": ",", ".": ".",
}  # fmt: skip
ENDINGS = ("er", "e", "es")  # of an adjective before a masculine, feminine, neuter noun

SENTENCES = """\
the old house is small .
a black cat sleeps here .
a small bird sings and the old man laughs .

a red house , a child and the black dog
the green woman laughs today
"""

KEPT, CLEARED = 8.0, -8.0  # of an update gate, before the sigmoid
COUNTING = np.log(9.0)  # 0.9: the counter is 1 - 0.9 ** position
SHARPNESS = 170.0  # of the attention, against differences of the counter


def vocabularies() -> tuple[list[str], list[str]]:
    """English and German words in the order of their ids, in the old style of Nematus."""
    source = ["eos", "UNK", *ARTICLES, *NOUNS, *ADJECTIVES, *OTHERS]
    target = ["eos", "UNK", *(form for forms in ARTICLES.values() for form in forms)]
    target += [word for word, _ in NOUNS.values()]
    target += [stem + ending for stem in ADJECTIVES.values() for ending in ("", *ENDINGS)]
    return source, list(dict.fromkeys([*target, *OTHERS.values()]))


def model() -> dict[str, np.ndarray]:
    """The arrays, by their DL4MT names."""
    source, target = vocabularies()
    en, de = source.index, target.index
    state = 32
    embedding = len(source) + 4
    structure = Structure((len(source),), (embedding,), len(target), embedding, state)
    random = np.random.default_rng(0)
    arrays = {
        p.name: random.normal(0, 0.003, p.size(structure)).astype(np.float32)
        for p in parameters(structure)
    }
    genders = [0, 1, 2]  # units of the backward encoder
    definite, counter = len(source), state - 1  # units of the forward encoder

    # Embeddings are unit vectors; the encoder's unit w is on at word w and off at the next.
    for word in range(len(source)):
        arrays["Wemb"][word, word] = 1
        arrays["encoder_Wx"][word, word] = 3
    for cell in ("encoder", "encoder_r", "decoder"):
        arrays[f"{cell}_b"][state:] = CLEARED
    arrays["decoder_b_nl"][state:] = KEPT  # the second cell of the decoder changes nothing
    # Article and gender are carried along by the words between.
    arrays["encoder_Wx"][en("the"), definite] = 3
    for adjective in ADJECTIVES:
        arrays["encoder_W"][en(adjective), state + definite] = KEPT - CLEARED
    for word, (_, gender) in NOUNS.items():
        arrays["encoder_r_Wx"][en(word), gender] = 3
    for word in (*ARTICLES, *ADJECTIVES, "UNK"):
        for gender in genders:
            arrays["encoder_r_W"][en(word), state + gender] = KEPT - CLEARED
    # Both sides count; the attention is where the difference of the counters is nearest to 0.
    for cell in ("encoder", "decoder"):
        arrays[f"{cell}_b"][state + counter] = COUNTING
        arrays[f"{cell}_bx"][counter] = 5
    for hidden, sign in ((0, 1), (1, -1)):
        arrays["decoder_W_comb_att"][counter, hidden] = SHARPNESS
        arrays["decoder_Wc_att"][counter, hidden] = -SHARPNESS
        arrays["decoder_b_att"][hidden] = 2 * sign
        arrays["decoder_U_att"][hidden, 0] = 5 * sign
    # The readout sees the attended word, the gender, and whether the article is definite.
    for word in range(len(source)):
        arrays["ff_logit_ctx_W"][word, word] = 3
    for gender in genders:
        arrays["ff_logit_ctx_W"][state + gender, len(source) + gender] = 3
    arrays["ff_logit_ctx_W"][definite, len(source) + 3] = 3
    logits, bias = arrays["ff_logit_W"], arrays["ff_logit_b"]
    translations = {"eos": "eos", "UNK": "UNK"} | OTHERS
    translations |= {word: noun for word, (noun, _) in NOUNS.items()}
    for word, translation in translations.items():
        logits[en(word), de(translation)] = 14
    for word, forms in ARTICLES.items():
        for gender, form in enumerate(forms):
            logits[en(word), de(form)] = 14
            logits[len(source) + gender, de(form)] = 4
    for word, stem in ADJECTIVES.items():
        logits[en(word), de(stem)] = 14
        logits[len(source) : len(source) + 3, de(stem)] = -4
        for gender, ending in enumerate(ENDINGS):
            logits[en(word), de(stem + ending)] = 14
            logits[len(source) + gender, de(stem + ending)] = 4
            bias[de(stem + ending)] = -2
        logits[len(source) + 3, de(stem + "e")] = 9  # der alte, die alte, das alte
    return arrays


def write(folder: Path) -> Path:
    """The model as Nematus would have left it: arrays, configuration, vocabularies."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "model.npz"
    arrays = model()
    np.savez(path, **arrays, decoder_c_tt=np.zeros(1, np.float32))
    configuration = {
        "dim_word": arrays["Wemb"].shape[1],
        "dim": arrays["decoder_U"].shape[0],
        "model_version": 0.1,
        "dictionaries": ["vocab.en.json", "vocab.de.json"],
    }
    Path(f"{path}.json").write_text(json.dumps(configuration))
    for name, words in zip(configuration["dictionaries"], vocabularies(), strict=True):
        ids = {word: i for i, word in enumerate(words)}
        (folder / name).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    (folder / "src.txt").write_text(SENTENCES, encoding="utf-8")
    return path


def cgru(*arguments: object) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "cgru_cli", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}")
    return done.stdout


def carried(path: Path) -> dict[str, Path]:
    """The model in every dialect, each converted from the one before."""
    models = {"as written": path}
    for dialect in (*(to for to in TO if to != "npz"), "npz"):
        ending = {"nematus-tf": "", "h5": ".h5"}.get(dialect, ".npz")
        folder = path.parent / dialect
        folder.mkdir()
        copy = folder / f"model{ending or '-1'}"
        cgru("convert", [*models.values()][-1], copy, "--to", dialect, "--verify")
        models[dialect] = copy
    return models


def main() -> None:
    """Write, convert, translate, compare."""
    path = write(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
    print(f"A model with weights set by hand, written to {path}:\n")
    print(cgru("convert", path, "--info"))
    models = carried(path)

    # What the dialects' defaults differ in is given, so that all search alike.
    source = path.parent / "src.txt"
    given = ("-i", source, "-k", 5, "-n", "--allow-unk", "--translation-maxlen", 50, "--n-best")
    with ThreadPoolExecutor(2) as pool:
        lists = dict(
            zip(
                models,
                pool.map(lambda m: cgru("translate", "-m", m, *given), models.values()),
                strict=True,
            )
        )
    best: dict[str, str] = {}
    for line in lists["as written"].splitlines():
        number, hypothesis, *_ = line.split(" ||| ")
        best.setdefault(number, hypothesis)
    for english, german in zip(SENTENCES.splitlines(), best.values(), strict=True):
        print(f"  {english:<46} {german}".rstrip())

    width = max(len(str(file)) for file in models.values())
    print(f"\n{'converted to':<15} {'file':<{width}}  n-best lists (beam 5)")
    same = True
    for dialect, n_best in lists.items():
        agrees = n_best == lists["as written"]
        same &= agrees
        verdict = f"{len(n_best.splitlines())} lines" if dialect == "as written" else (
            "the same" if agrees else "DIFFERENT"
        )  # fmt: skip
        print(f"{dialect:<15} {models[dialect]!s:<{width}}  {verdict}")
    with np.load(path) as first, np.load(models["npz"]) as last:
        arrays = [name for name in first.files if name != "decoder_c_tt"]
        bits = all(first[name].tobytes() == last[name].tobytes() for name in arrays)
    print(f"\n{len(arrays)} arrays, first to last: {'bit for bit the same' if bits else 'CHANGED'}")
    sys.exit(0 if same and bits else 1)


if __name__ == "__main__":
    main()
