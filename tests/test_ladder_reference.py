"""The oracle of ladder_reference.py against DL4MT, Marian, stock Keras cells and by hand."""

import json
import re
from pathlib import Path

import keras
import numpy as np
import pytest
from ladder_reference import Cell, LadderModel, State
from reference import FIRST, SECOND, ReferenceModel

PAIRS = 3


def lines(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").split("\n")


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files if name != "zipped_params"}


def ids(path: Path, text: Path, rows: int) -> list[list[int]]:
    """The first lines of a text as ids; words not in the vocabulary or the matrix are UNK."""
    vocabulary = json.loads(path.read_text(encoding="utf-8"))
    unknown = vocabulary["UNK"] if "UNK" in vocabulary else vocabulary["<UNK>"]
    found = [[vocabulary.get(word, unknown) for word in line.split(" ")] for line in lines(text)]
    return [[i if i < rows else unknown for i in line] for line in found[:PAIRS]]


def scored(folder: Path, model: LadderModel, source: str | None, target: str) -> np.ndarray:
    """log p of the first lines."""
    targets = ids(
        folder / target,
        folder / ("trg.txt" if source else "src.txt"),
        len(model.target_embedding),
    )
    sources = [None] * PAIRS
    if source:
        sources = ids(folder / source, folder / "src.txt", len(model.arrays["Wemb"]))
    return np.array(
        [
            model.force_decode(x, y).log_probs.sum()
            for x, y in zip(sources, targets, strict=True)
        ]
    )


def numbers(path: Path) -> np.ndarray:
    return np.array([float(line) for line in lines(path)[:PAIRS]])


# --- DL4MT ----------------------------------------------------------------------------------


def test_language_model_of_dl4mt(shared):
    folder = shared("fixtures/dl4mt-session0")
    model = LadderModel(arrays_of(folder / "model.npz"), type="lm")
    np.testing.assert_allclose(
        -scored(folder, model, None, "vocab.en.json"),
        numbers(folder / "costs.txt"),
        rtol=0,
        atol=1e-4,
    )
    first = ids(folder / "vocab.en.json", folder / "src.txt", 1500)[0]
    by_word = [float(cost) for cost in lines(folder / "wordcosts.txt")[0].split(" ")]
    np.testing.assert_allclose(
        -model.force_decode(None, first).log_probs, by_word, rtol=0, atol=1e-5
    )


def test_encoder_decoder_of_dl4mt(shared):
    folder = shared("fixtures/dl4mt-session1")
    model = LadderModel(
        arrays_of(folder / "model.npz"), type="encdec", encoder="unidirectional"
    )
    np.testing.assert_allclose(
        -scored(folder, model, "vocab.en.json", "vocab.de.json"),
        numbers(folder / "costs.txt"),
        rtol=0,
        atol=1e-4,
    )


# --- Marian ---------------------------------------------------------------------------------

S2S_CELL = re.compile(
    r"(?P<side>encoder_bi_r|encoder_bi|encoder|decoder)(?:_l(?P<level>\d+))?"
    r"(?:_cell(?P<cell>\d+))?_(?P<root>W|U|b|Wx|Ux|bx|gamma1|gamma2)"
)
READOUT = ("prev", "lstm", "ctx")


def ladder_name(name: str, alternating: bool = False, lm: bool = False) -> str:
    """The name that an array of Marian's s2s or lm has in the ladder.

    Marian names its two encoder stacks by the direction of their first level.
    """
    readout = re.fullmatch(r"decoder_ff_logit_l1_([Wb])(\d)", name)
    if readout:
        return f"ff_logit_{READOUT[int(readout[2])]}_{readout[1]}"
    fixed = {
        "encoder_Wemb": "Wemb",
        "decoder_Wemb": "Wemb" if lm else "Wemb_dec",
        "decoder_ff_logit_l2_W": "ff_logit_W",
        "decoder_ff_logit_l2_b": "ff_logit_b",
    }
    if name in fixed:
        return fixed[name]
    if name.startswith("decoder_ff_"):
        return name.removeprefix("decoder_")
    parts = S2S_CELL.fullmatch(name)
    if parts is None:
        return name
    level, cell, root = int(parts["level"] or 1), int(parts["cell"] or 1), parts["root"]
    if parts["side"] == "decoder":
        prefix, base = "encoder" if lm else "decoder", level == 1 and not lm
    else:
        backward = parts["side"] == "encoder_bi_r"
        if alternating and level % 2 == 0:
            backward = not backward
        prefix, base = "encoder_r" if backward else "encoder", False
    if level > 1:
        prefix += f"_{level}"
    if base and root.startswith("gamma") and cell <= 2:
        return f"decoder_cell{cell}_{root}"
    if base and cell == 2 and root in ("W", "Wx"):
        return root.replace("W", "decoder_Wc")
    suffix = "" if cell == 1 else f"_drt_{cell - 1}"
    if base:
        suffix = ["", "_nl"][cell - 1] if cell <= 2 else f"_nl_drt_{cell - 2}"
    if root.startswith("gamma"):
        return f"{prefix}{suffix}_{root}"
    return f"{prefix}_{root}{suffix}"


def from_s2s(
    s2s: dict[str, np.ndarray], *, encoder: str = "bidirectional", encoder_depth: int = 1, lm=False
) -> dict[str, np.ndarray]:
    """Marian's arrays by the names of the ladder.

    Where directions alternate, an even depth puts the states of the backward reader first: the
    rows that read an annotation or a context then swap halves.
    """
    alternating = encoder == "alternating"
    s2s = {name: array for name, array in s2s.items() if not name.startswith("special:")}
    if "decoder_ff_logit_l2_Wt" in s2s:
        s2s["decoder_ff_logit_l2_W"] = s2s.pop("decoder_ff_logit_l2_Wt").T
    arrays = {ladder_name(name, alternating, lm): array for name, array in s2s.items()}
    assert len(arrays) == len(s2s)
    if alternating and encoder_depth % 2 == 0:
        for name in ("decoder_Wc_att", "decoder_Wc", "decoder_Wcx", "ff_state_W", "ff_logit_ctx_W"):
            if name in arrays:
                backward, forward = np.split(arrays[name], 2, axis=0)
                arrays[name] = np.concatenate([forward, backward], axis=0)
    return arrays


DEEP_ENCODER = {"encoder": "bi-unidirectional", "encoder_depth": 3}
MARIAN = {
    "marian-s2s-lstm": {"encoder_unit": "lstm", "decoder_unit": "lstm"},
    "marian-s2s-tanh": {"encoder_unit": "tanh", "decoder_unit": "tanh"},
    "marian-s2s-bi-unidirectional": {**DEEP_ENCODER, "residual": False},
    "marian-s2s-bi-uni-cell2-skip": {**DEEP_ENCODER, "encoder_transition": 2},
    "marian-s2s-deep": {
        "encoder": "alternating",
        "encoder_depth": 2,
        "encoder_transition": 2,
        "decoder_depth": 2,
        "decoder_base_transition": 3,
        "decoder_high_transition": 2,
        "normalization": "marian",
    },
}


@pytest.mark.parametrize("name", MARIAN)
def test_scores_of_marian(shared, name):
    folder = shared(f"fixtures/{name}")
    settings = MARIAN[name]
    arrays = from_s2s(
        arrays_of(folder / "model.npz"),
        encoder=settings.get("encoder", "bidirectional"),
        encoder_depth=settings.get("encoder_depth", 1),
    )
    joint = (folder / "vocab.ende.json").exists()
    source, target = ("vocab.ende.json",) * 2 if joint else ("vocab.en.json", "vocab.de.json")
    model = LadderModel(arrays, type="cgru", **settings)
    np.testing.assert_allclose(
        scored(folder, model, source, target), numbers(folder / "scores.txt"), rtol=0, atol=2e-4
    )
