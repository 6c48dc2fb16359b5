"""The equations in NumPy give the scores and activations that the old programs wrote.

The models of the reference cases are read here by their own names, without the package.
CGRU_SHARED names the folder of the reference cases, by default `shared` beside the repository;
without them these tests are skipped, or fail if CGRU_REQUIRE_SHARED=1.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from deep_equations import DeepModel
from shared_files import fixture_path

PAIRS = 3  # of 50; the exhaustive tests score all of them
DEEP = {
    "encoder_depth": 2,
    "encoder_transition": 2,
    "decoder_depth": 2,
    "decoder_base_transition": 3,
}
LAYER_NORM = {"normalization": "nematus"}
BI_UNIDIRECTIONAL = {"encoder": "bi-unidirectional", "encoder_depth": 3}
# the settings of each reference case
CASES = {
    "a-shallow": {},
    "b-layernorm": LAYER_NORM,
    "c-tied-dec": {},
    "d-tied-all": {},
    "dl4mt-session0": {"type": "lm"},
    "dl4mt-session1": {"type": "encdec", "encoder": "unidirectional"},
    "e-deep-tf": DEEP,
    "e2-deep-theano": DEEP,
    "f-factors": {},
    "marian-amun": {},
    "marian-amun-ln": {"normalization": "marian"},
    "marian-nematus": {},
    "marian-nematus-ln": LAYER_NORM,
    "marian-s2s": {},
    "marian-s2s-bi-unidirectional": {**BI_UNIDIRECTIONAL, "residual": False},
    "marian-s2s-bi-uni-cell2-skip": {**BI_UNIDIRECTIONAL, "encoder_transition": 2},
    "marian-s2s-deep": {**DEEP, "decoder_high_transition": 2, "normalization": "marian"},
    "marian-s2s-lstm": {"encoder_unit": "lstm", "decoder_unit": "lstm"},
    "marian-s2s-tanh": {"encoder_unit": "tanh", "decoder_unit": "tanh"},
}


def lines(path: Path, count: int | None = None) -> list[str]:
    return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")[:count]


# -- models ----------------------------------------------------------------------------------------


def arrays_of(folder: Path) -> dict[str, np.ndarray]:
    """The arrays by the names of DL4MT and Nematus."""
    with np.load(folder / "model.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files if name != "zipped_params"}
    if "decoder_ff_logit_l2_Wt" in arrays:  # Marian transposes the output layer
        arrays["ff_logit_W"] = arrays.pop("decoder_ff_logit_l2_Wt").T
    if "encoder_bi_U" not in arrays:
        return arrays
    settings = CASES[folder.name]
    alternating_depth = 1 if "encoder" in settings else settings.get("encoder_depth", 1)
    return from_s2s(arrays, alternating_depth)


S2S_CELL = re.compile(
    r"(?P<side>encoder_bi_r|encoder_bi|encoder|decoder)(?:_l(?P<level>\d+))?"
    r"(?:_cell(?P<cell>\d+))?_(?P<root>W|U|b|Wx|Ux|bx|gamma1|gamma2)"
)
S2S_NAMES = {
    "encoder_Wemb": "Wemb",
    "decoder_Wemb": "Wemb_dec",
    "decoder_ff_logit_l2_W": "ff_logit_W",
    "decoder_ff_logit_l2_b": "ff_logit_b",
}
READ_BY_CONTEXT = "decoder_Wc_att decoder_Wc decoder_Wcx ff_state_W ff_logit_ctx_W".split()


def nematus_name(name: str, alternating_depth: int) -> str:
    """Nematus' name of an array of Marian's s2s."""
    readout = re.fullmatch(r"decoder_ff_logit_l1_([Wb])(\d)", name)
    if readout:
        part = ("prev", "lstm", "ctx")[int(readout[2])]
        return f"ff_logit_{part}_{readout[1]}"
    if name in S2S_NAMES:
        return S2S_NAMES[name]
    if name.startswith("decoder_ff_"):
        return name.removeprefix("decoder_")
    parts = S2S_CELL.fullmatch(name)
    if parts is None:
        return name
    level, cell, root = int(parts["level"] or 1), int(parts["cell"] or 1), parts["root"]
    base = parts["side"] == "decoder" and level == 1
    prefix = "decoder"
    if parts["side"] != "decoder":
        # Marian names a stack by the direction of its first level, Nematus a reader by its own.
        turned = alternating_depth > 1 and level % 2 == 0
        backward = (parts["side"] == "encoder_bi_r") != turned
        prefix = "encoder_r" if backward else "encoder"
    if level > 1:
        prefix += f"_{level}"
    if base and root.startswith("gamma") and cell <= 2:
        return f"decoder_cell{cell}_{root}"
    if base and cell == 2 and root in ("W", "Wx"):
        return root.replace("W", "decoder_Wc")
    suffix = "" if cell == 1 else f"_drt_{cell - 1}"
    if base:
        suffix = ("", "_nl")[cell - 1] if cell <= 2 else f"_nl_drt_{cell - 2}"
    return f"{prefix}{suffix}_{root}" if root.startswith("gamma") else f"{prefix}_{root}{suffix}"


def from_s2s(s2s: dict[str, np.ndarray], alternating_depth: int) -> dict[str, np.ndarray]:
    """Arrays of Marian's s2s by Nematus' names.

    Marian's annotations begin with the stack that is forward at its first level. If directions
    alternate, that stack ends backward at an even depth: then the rows that read an annotation or a
    context swap halves.
    """
    s2s = {name: array for name, array in s2s.items() if not name.startswith("special:")}
    arrays = {nematus_name(name, alternating_depth): array for name, array in s2s.items()}
    assert len(arrays) == len(s2s)
    if alternating_depth % 2 == 0:
        for name in READ_BY_CONTEXT:
            backward, forward = np.split(arrays[name], 2, axis=0)
            arrays[name] = np.concatenate([forward, backward], axis=0)
    return arrays


def model_of(folder: Path) -> DeepModel:
    arrays = arrays_of(folder)
    if folder.name == "e-deep-tf":  # Nematus reads it with zeros in place of missing biases
        for name in [name for name in arrays if "_U" in name and name.startswith("encoder")]:
            for new in (name.replace("_Ux", "_bx"), name.replace("_U_", "_b_")):
                if "_U" not in new:
                    arrays.setdefault(new, np.zeros(arrays[name].shape[1]))
    return DeepModel(arrays, **CASES[folder.name])


# -- texts -----------------------------------------------------------------------------------------


def ids_of(folder: Path, language: str, words: list[str], rows: int) -> list[int]:
    """Words outside the vocabulary or the matrix are unknown."""
    path = folder / f"vocab.{language}.json"
    if not path.exists():
        path = folder / "vocab.ende.json"  # one vocabulary for both sides
    vocabulary = json.loads(path.read_text(encoding="utf-8"))
    unknown = vocabulary["UNK"] if "UNK" in vocabulary else vocabulary["<UNK>"]
    found = [vocabulary.get(word, unknown) for word in words]
    return [i if i < rows else unknown for i in found]


def source_ids(folder: Path, line: str, model: DeepModel) -> list:
    words, rows = line.split(" "), len(model.arrays["Wemb"])
    if not (folder / "vocab.fac1.json").exists():
        return ids_of(folder, "en", words, rows)
    surface, factors = zip(*(word.rsplit("|", 1) for word in words), strict=True)
    ids = ids_of(folder, "en", surface, rows)
    return list(zip(ids, ids_of(folder, "fac1", factors, rows), strict=True))


def pairs(folder: Path, model: DeepModel, count: int | None) -> list[tuple]:
    """Sources and targets without EOS; a language model has no source."""
    rows = len(model.target_embedding)
    sources = lines(folder / "src.txt", count)
    if model.type == "lm":
        return [(None, ids_of(folder, "en", line.split(" "), rows)) for line in sources]
    targets = lines(folder / "trg.txt", count)
    return [
        (source_ids(folder, source, model), ids_of(folder, "de", target.split(" "), rows))
        for source, target in zip(sources, targets, strict=True)
    ]


# -- scores and activations ------------------------------------------------------------------------


def scores_by_program(folder: Path, count: int | None) -> dict[str, np.ndarray]:
    """-log p of each line by the program of the case, and by others with the same weights."""
    name = "costs.txt" if folder.name.startswith("dl4mt") else "scores.txt"
    paths = [folder / name, *sorted(folder.glob("*/*scores.txt"))]
    paths = [path for path in paths if path.stat().st_size]  # a program may refuse a model
    return {
        str(path.relative_to(folder)): np.abs([float(line) for line in lines(path, count)])
        for path in paths
    }


def check_scores(name: str, count: int | None) -> None:
    """In nats per word; the programs add up the costs of the words in float32."""
    folder = fixture_path(name)
    model = model_of(folder)
    texts = pairs(folder, model, count)
    costs = np.array([-model.force_decode(*pair).log_probs.sum() for pair in texts])
    words = np.array([len(target) + 1 for _, target in texts])
    expected = scores_by_program(folder, count)
    if name == "e-deep-tf":
        trained = DeepModel(arrays_of(folder), bias="nematus_tf", **DEEP)
        native = [-trained.force_decode(*pair).log_probs.sum() for pair in texts]
        assert (np.abs(native - expected.pop("native/scores.txt")) / words).max() < 2e-6
    for path, theirs in expected.items():
        tolerance = 1e-5 if "marian" in f"{name}/{path}" else 2e-6
        assert (np.abs(costs - theirs) / words).max() < tolerance, path


@pytest.mark.parametrize("name", CASES)
def test_scores(name):
    check_scores(name, PAIRS)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_scores_of_all_lines(name):
    check_scores(name, None)


def test_every_reference_case_is_scored():
    assert {path.parent.name for path in fixture_path("").glob("*/model.npz")} == set(CASES)


def test_costs_of_words():
    folder = fixture_path("dl4mt-session0")
    model = model_of(folder)
    (pair,) = pairs(folder, model, 1)
    expected = [float(cost) for cost in lines(folder / "wordcosts.txt")[0].split(" ")]
    np.testing.assert_allclose(-model.force_decode(*pair).log_probs, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["a-shallow", "b-layernorm", "e2-deep-theano"])
@pytest.mark.parametrize("i", range(PAIRS))
def test_activations(name, i):
    folder = fixture_path(name)
    expected = np.load(folder / "attention.npz")
    x, y = expected[f"x_{i}"][0], expected[f"y_{i}"]
    assert x[-1] == y[-1] == 0
    forced = model_of(folder).force_decode(x[:-1].tolist(), y[:-1].tolist())
    for field, key in [
        ("annotations", "ctx"),
        ("start", "s0"),
        ("alignment", "att"),
        ("contexts", "attctx"),
        ("states", "states"),
        ("log_probs", "logp"),
    ]:
        actual = getattr(forced, field)
        assert actual.dtype == np.float64
        wanted = expected[f"{key}_{i}"]
        if field == "log_probs" and wanted.sum() > 0:
            wanted = -wanted
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=2e-5, err_msg=field)
