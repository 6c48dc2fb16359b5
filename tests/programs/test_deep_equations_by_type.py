"""The equations in NumPy of each type and unit, against Keras' cells and manual computation."""

import equations
import keras
import numpy as np
import pytest
from cases import random_arrays as small_arrays
from deep_cells import INPUT, STATE, Cell, State
from deep_equations import DeepModel
from models import typed
from oracles.labels import LabelModel
from tables import each_row

from cgru_cli.parameters.structure import Pooling, Type

# --- each unit's step against stock Keras cells ---------------------------------------------

D, E, VS, VT = 5, 4, 7, 6


def cell_arrays(unit: str, rows: int = E) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    columns = {"gru": 2 * D, "gru-before": 2 * D, "lstm": 4 * D}.get(unit, D)
    parts = {"": columns} | ({"x": D} if unit.startswith("gru") else {})
    arrays = {}
    for x, width in parts.items():
        shapes = {"W": (rows, width), "Wc": (3, width), "U": (D, width), "b": (width,)}
        arrays |= {f"cell_{n}{x}": rng.normal(0, 0.7, shape) for n, shape in shapes.items()}
    return arrays


def a_cell(unit: str, bias: str, *, W=True, Wc=False) -> Cell:
    return Cell(
        unit,
        "cell_U{}",
        "cell_b{}",
        "cell_W{}" if W else None,
        "cell_Wc{}" if Wc else None,
        bias,
    )


def swapped(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """[r | z] and the proposal's array in Keras' order: z, r, proposal."""
    r, z = np.split(a, 2, axis=-1)
    return np.concatenate([z, r, x], axis=-1)


@each_row(
    ("unit", "bias"),
    [
        ("gru", INPUT),
        ("gru", STATE),
        ("gru-before", INPUT),
        ("gru-before", STATE),
        ("lstm", INPUT),
        ("tanh", INPUT),
        ("relu", INPUT),
    ],
)
@each_row("has_input", [True, False])
def test_units_equal_those_of_keras(unit, bias, has_input):
    arrays = cell_arrays(unit)
    rng = np.random.default_rng(1)
    x, h, memory = rng.normal(size=E), rng.normal(size=D), rng.normal(size=D)
    model = DeepModel(arrays, type="lm")
    step = model.step(
        a_cell(unit, bias, W=has_input),
        State(h, memory if unit == "lstm" else None),
        x if has_input else None,
    )

    W, U, b = (arrays[f"cell_{name}"] for name in "WUb")
    if unit.startswith("gru"):
        after = unit == "gru"
        W, U, b = (swapped(arrays[f"cell_{n}"], arrays[f"cell_{n}x"]) for n in "WUb")
        if after:  # Keras has two biases, the second one inside the reset
            b = np.stack([b, 0 * b] if bias == INPUT else [0 * b, b])
        cell = keras.layers.GRUCell(D, reset_after=after, dtype="float64")
        states = [h]
    elif unit == "lstm":
        W, U, b = (
            np.concatenate([np.split(a, 4, -1)[k] for k in (1, 0, 2, 3)], -1) for a in (W, U, b)
        )
        cell = keras.layers.LSTMCell(D, unit_forget_bias=False, dtype="float64")
        states = [h, memory]
    else:
        cell = keras.layers.SimpleRNNCell(D, activation=unit, dtype="float64")
        states = [h]
    cell.build((1, E))
    cell.set_weights([W, U, b])
    _, expected = cell((x if has_input else 0 * x)[None], [state[None] for state in states])
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    for got, wanted in zip(step, expected, strict=False):
        np.testing.assert_allclose(got, np.asarray(wanted)[0], rtol=0, atol=1e-6)
    assert (step.c is not None) == (len(expected) == 2)


LESSONS = {
    "tanh": equations.plain,
    "gru": equations.gru,
    "gru-before": equations.gru_before,
    "lstm": equations.lstm,
}


@each_row("unit", LESSONS)
def test_units_are_those_of_the_lessons(unit):
    arrays, rng = cell_arrays(unit), np.random.default_rng(1)
    x, *state = rng.normal(size=E), rng.normal(size=D), rng.normal(size=D)
    step = DeepModel(arrays, type="lm").step(a_cell(unit, INPUT), State(*state), x)
    memory = state[1:] if unit == "lstm" else []
    expected = LESSONS[unit](arrays, "cell", state[0], x, *memory)
    for found, wanted in zip(step, expected if memory else [expected], strict=False):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


# --- Nematus' layer norm of each unit, computed manually -----------------------------------------


def with_norms(arrays: dict[str, np.ndarray], skip=()) -> dict[str, np.ndarray]:
    """A gain and a bias for every matrix that Nematus normalises, `skip` apart."""
    rng = np.random.default_rng(5)
    result = dict(arrays)
    for name, array in arrays.items():
        if array.ndim < 2 or name in ("Wemb", "Wemb_dec", "ff_logit_W", "decoder_U_att", *skip):
            continue
        stem = name.removesuffix("W") + "ln_" if name.startswith("ff_") else name + "_ln"
        result[stem + "s"] = rng.uniform(0.5, 1.5, array.shape[1])
        result[stem + "b"] = rng.normal(0, 0.3, array.shape[1])
    return result


@each_row("unit", ["gru", "gru-before", "lstm", "tanh", "relu"])
@each_row("place", ["first", "with context", "state", "state, no input", "last"])
def test_layer_norm_of_units(unit, place):
    a = with_norms(cell_arrays(unit))
    rng = np.random.default_rng(1)
    x, h, c, memory = (rng.normal(size=n) for n in (E, D, 3, D))

    def LN(y, name):
        y = (y - y.mean()) / np.sqrt(y.var() + 1e-5)
        return y * a[f"cell_{name}_lns"] + a[f"cell_{name}_lnb"]

    def pair(of, h):
        """The input's and the state's term of a sum."""
        W, Wc, U, b = (a[f"cell_{name}{of}"] for name in ("W", "Wc", "U", "b"))
        return {
            "first": lambda: (LN(x @ W + b, "W" + of), LN(h @ U, "U" + of)),
            "with context": lambda: (
                LN(x @ W + b, "W" + of) + LN(c @ Wc, "Wc" + of),
                LN(h @ U, "U" + of),
            ),
            "state": lambda: (LN(x @ W, "W" + of), LN(h @ U + b, "U" + of)),
            "state, no input": lambda: (0, LN(h @ U + b, "U" + of)),
            "last": lambda: (b, LN(h @ U, "U" + of)),
        }[place]()

    def logistic(y):
        return 1 / (1 + np.exp(-y))

    total = sum(pair("", h))
    if unit.startswith("gru"):
        r, z = np.split(logistic(total), 2)
        if unit == "gru":
            proposal, inner = pair("x", h)
            p = np.tanh(proposal + r * inner)
        else:
            p = np.tanh(sum(pair("x", r * h)))
        expected = z * h + (1 - z) * p
    elif unit == "lstm":
        f, i, g, o = np.split(total, 4)
        expected = logistic(o) * np.tanh(logistic(f) * memory + logistic(i) * np.tanh(g))
    else:
        expected = np.tanh(total) if unit == "tanh" else np.maximum(total, 0)

    cell = a_cell(
        unit,
        STATE if place.startswith("state") else INPUT,
        W=place not in ("state, no input", "last"),
        Wc=place == "with context",
    )
    model = DeepModel(a, type="lm", normalization="nematus")
    step = model.step(cell, State(h, memory), x, c)
    np.testing.assert_allclose(step.h, expected, rtol=0, atol=1e-12)


# --- models with random weights -------------------------------------------------------------

SOURCE, TARGET = [3, 1, 4, 6], [2, 5, 1]
DEEP = {
    "encoder_depth": 3,
    "encoder_transition": 2,
    "decoder_depth": 3,
    "decoder_base_transition": 4,
    "decoder_high_transition": 2,
}


def random_arrays(
    *,
    type,
    encoder_unit="gru",
    decoder_unit="gru",
    encoder="bidirectional",
    encoder_depth=1,
    encoder_transition=1,
    decoder_depth=1,
    decoder_base_transition=None,
    decoder_high_transition=1,
    deep_context=False,
    readout_activation="tanh",
    **_,
) -> dict[str, np.ndarray]:
    """Random arrays of a model, with independently stated names and shapes."""
    rng = np.random.default_rng(0)
    arrays = {}

    def add(**shapes):
        arrays.update({name: rng.normal(0, 0.5, shape) for name, shape in shapes.items()})

    def cell(unit, prefix, suffix="", rows=0, W="W", context=0):
        wide = {"gru": 2, "gru-before": 2, "lstm": 4}.get(unit, 1) * D
        for x, n in {"": wide, "x": D}.items() if "gru" in unit else [("", wide)]:
            add(**{f"{prefix}_U{x}{suffix}": (D, n), f"{prefix}_b{x}{suffix}": (n,)})
            if rows:
                add(**{f"{prefix}_{W}{x}": (rows, n)})
            if context:
                add(**{f"{prefix}_Wc{x}": (context, n)})

    def level(unit, prefix, rows, transition):
        cell(unit, prefix, rows=rows)
        for i in range(1, transition):
            cell(unit, prefix, f"_drt_{i}")

    single = encoder in ("unidirectional", "reversed")
    narrow = single or (encoder == "bi-unidirectional" and encoder_depth > 1)
    C = D if narrow else 2 * D
    add(Wemb=(VS, E))
    if type != "lm":
        add(Wemb_dec=(VT, E))
        for n in range(1, encoder_depth + 1):
            number = f"_{n}" if n > 1 else ""
            for reader in ("encoder", "encoder_r"):
                if encoder == "unidirectional" and reader == "encoder_r":
                    continue
                if encoder == "reversed" and reader == "encoder":
                    continue
                if encoder == "bi-unidirectional" and n > 1 and reader == "encoder_r":
                    continue
                rows = E if n == 1 else D
                if encoder == "bi-unidirectional" and n == 2:
                    rows = 2 * D
                level(encoder_unit, reader + number, rows, encoder_transition)
    if type in ("cgru", "rnnsearch"):
        add(decoder_W_comb_att=(D, C), decoder_Wc_att=(C, C), decoder_U_att=(C, 1))
        add(decoder_b_att=(C,))
    if type not in ("lm", "seq2seq"):
        add(ff_state_W=(C, D), ff_state_b=(D,))

    base = decoder_base_transition or (2 if type == "cgru" else 1)
    prefix = "encoder" if type == "lm" else "decoder"
    cell(decoder_unit, prefix, rows=E, context=C if type in ("rnnsearch", "encdec") else 0)
    for i in range(1, base):
        if type != "cgru":
            cell(decoder_unit, prefix, f"_drt_{i}")
        elif i == 1:
            cell(decoder_unit, prefix, "_nl", rows=C, W="Wc")
        else:
            cell(decoder_unit, prefix, f"_nl_drt_{i - 1}")
    for n in range(2, decoder_depth + 1):
        rows = D + C if deep_context else D
        level(decoder_unit, f"{prefix}_{n}", rows, decoder_high_transition)

    wide = 2 * E if readout_activation == "maxout" else E
    parts = {"prev": E, "lstm": D} | ({"ctx": C} if type not in ("lm", "seq2seq") else {})
    for part, rows in parts.items():
        add(**{f"ff_logit_{part}_W": (rows, wide), f"ff_logit_{part}_b": (wide,)})
    V = VS if type == "lm" else VT
    add(ff_logit_W=(E, V), ff_logit_b=(V,))
    return arrays


def decoded(arrays=None, source=SOURCE, target=TARGET, **settings):
    if arrays is None:
        arrays = random_arrays(**settings)
    if settings["type"] == "lm":
        source = None
    return DeepModel(arrays, **settings).force_decode(source, target)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


def different(a, b):
    assert np.abs(a - b).max() > 1e-3


UNITS = ("gru", "gru-before", "lstm", "tanh", "relu")
TYPES = ("lm", "encdec", "seq2seq", "rnnsearch", "cgru")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("normalization", ["none", "nematus"])
def test_every_array_is_read(type, unit, normalization):
    """Deep models of every kind give a distribution at each step and read every array."""
    encoders = ["unidirectional", "reversed"]
    if type in ("encdec", "rnnsearch", "cgru"):
        encoders += ["bidirectional", "alternating", "bi-unidirectional"]
    for encoder in encoders[:1] if type == "lm" else encoders:
        settings = {
            **DEEP,
            "type": type,
            "encoder": encoder,
            "encoder_unit": unit,
            "decoder_unit": unit,
            "normalization": normalization,
        }
        arrays = random_arrays(**settings)
        if normalization == "nematus":
            arrays = with_norms(arrays)
        asked = Asked(arrays)
        model = DeepModel(arrays, **settings)
        model.arrays = asked
        forced = model.force_decode(None if type == "lm" else SOURCE, TARGET)
        assert asked.names == set(arrays)
        same(np.exp(forced.distributions).sum(axis=1), 1.0)
        assert forced.states.shape == (4, D)
        assert (forced.annotations is None) == (type == "lm")
        assert (forced.alignment is None) == (type not in ("rnnsearch", "cgru"))
        assert (forced.contexts is None) == (type in ("lm", "seq2seq"))


class Asked(dict):
    """A dictionary that records which names were read."""

    def __init__(self, arrays):
        super().__init__(arrays)
        self.names = set()

    def __getitem__(self, name):
        self.names.add(name)
        return super().__getitem__(name)


ONE_READER = {"encoder": "unidirectional"}
SHALLOW = {
    "lm": {},
    "encdec": ONE_READER,
    "seq2seq": ONE_READER,
    "rnnsearch": {},
    "cgru": {},
}


@pytest.mark.parametrize("type", SHALLOW)
def test_a_shallow_model_is_that_of_the_lessons(type):
    arrays = random_arrays(type=type, **SHALLOW[type])
    forced = decoded(arrays, type=type, **SHALLOW[type])
    expected, alphas = equations.follow(type, arrays, [*SOURCE, 0], [*TARGET, 0])
    same(np.exp(forced.distributions), expected)
    if forced.alignment is not None:
        same(forced.alignment, alphas)


def plain(arrays, prefix, h, x=None):
    """tanh(x W + h U + b), as in textbooks."""
    W, U, b = (arrays[f"{prefix}_{name}"] for name in "WUb")
    return np.tanh(x @ W + h @ U + b)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("encoder", ["unidirectional", "reversed"])
def test_sequence_to_sequence_by_hand(encoder, residual):
    """Level n starts from the final state of the encoder's level n, without the residual sum."""
    settings = {
        "type": "seq2seq",
        "encoder": encoder,
        "encoder_unit": "tanh",
        "decoder_unit": "tanh",
        "encoder_depth": 2,
        "decoder_depth": 2,
        "residual": residual,
    }
    a = random_arrays(**settings)
    forced = decoded(a, **settings)

    reader = "encoder" if encoder == "unidirectional" else "encoder_r"
    order = [3, 1, 4, 6, 0] if encoder == "unidirectional" else [0, 6, 4, 1, 3]
    h1 = h2 = np.zeros(D)
    for word in order:
        h1 = plain(a, reader, h1, a["Wemb"][word])
        h2 = plain(a, f"{reader}_2", h2, h1)
    same(forced.start, h1)
    outputs = []
    for y in [np.zeros(E), *a["Wemb_dec"][TARGET]]:
        h1 = plain(a, "decoder", h1, y)
        h2 = plain(a, "decoder_2", h2, h1)
        top = h1 + h2 if residual else h2
        t = top @ a["ff_logit_lstm_W"] + a["ff_logit_lstm_b"]
        t = np.tanh(t + y @ a["ff_logit_prev_W"] + a["ff_logit_prev_b"])
        outputs.append(np.exp(t @ a["ff_logit_W"] + a["ff_logit_b"]))
    expected = [np.log(output / output.sum()) for output in outputs]
    same(forced.distributions, expected)
    same(forced.log_probs, [row[word] for row, word in zip(expected, [*TARGET, 0], strict=True)])


def test_sequence_to_sequence_hands_over_both_states_of_an_lstm():
    settings = {
        "type": "seq2seq",
        "encoder": "unidirectional",
        "encoder_unit": "lstm",
        "decoder_unit": "lstm",
    }
    arrays = random_arrays(**settings)
    for name in "WUb":  # the decoder continues like the encoder; its first input is zero
        arrays[f"decoder_{name}"] = arrays[f"encoder_{name}"]
    arrays["Wemb_dec"][0] = arrays["Wemb"][0] = 0.0
    arrays["Wemb_dec"][TARGET] = arrays["Wemb"][TARGET]
    forced = decoded(arrays, **settings)
    whole = DeepModel(arrays, **settings).encode([*SOURCE, 0, 0, *TARGET])[0]
    same(forced.states, whole[len(SOURCE) + 1 : -1])


@pytest.mark.parametrize("type", ["encdec", "rnnsearch", "cgru"])
def test_reading_from_the_end_equals_reading_the_reversed_sentence(type):
    structure = {"encoder_depth": 2, "encoder_transition": 2}
    forward = random_arrays(type=type, encoder="unidirectional", **structure)
    backward = {name.replace("encoder_", "encoder_r_"): a for name, a in forward.items()}
    turned = decoded(backward, type=type, encoder="reversed", **structure)
    # A forward reader of "EOS and the reversed words", without the EOS that is appended to it.
    model = DeepModel(forward, type=type, encoder="unidirectional", **structure)
    hs, _, _ = model.encode([0, *SOURCE[::-1]])
    same(turned.annotations, hs[:-1][::-1])
    if type == "encdec":
        same(turned.contexts[0], hs[-2])


def test_encoder_decoder_takes_each_reader_where_it_ends():
    deep = {"encoder_depth": 3, "encoder_transition": 2, "type": "encdec"}
    for encoder in ("bidirectional", "alternating"):
        forced = decoded(encoder=encoder, **deep)
        h = forced.annotations
        for c in forced.contexts:
            same(c, np.concatenate([h[-1, :D], h[0, D:]]))
    forced = decoded(encoder="bi-unidirectional", **deep)
    same(forced.contexts, [forced.annotations[-1]] * 4)


@each_row("unit", UNITS)
@each_row("normalization", ["none", "nematus"])
def test_attention_to_a_single_position_is_an_encoder_decoder(unit, normalization):
    """For an empty sentence, EOS is the mean, the last annotation and every context."""
    settings = {"encoder_unit": unit, "decoder_unit": unit, "normalization": normalization}
    settings |= {"decoder_base_transition": 3, "decoder_depth": 2, "deep_context": True}
    arrays = random_arrays(type="rnnsearch", **settings)
    if normalization == "nematus":
        arrays = with_norms(arrays)
    attentive = decoded(arrays, source=[], type="rnnsearch", **settings)
    same(attentive.alignment, np.ones((4, 1)))
    without = decoded(arrays, source=[], type="encdec", **settings)
    same(attentive.distributions, without.distributions)
    longer = decoded(arrays, type="rnnsearch", **settings)
    different(longer.distributions, decoded(arrays, type="encdec", **settings).distributions)


def test_attention_of_bahdanau_by_hand():
    """The query is the state before the step; the context then enters that step."""
    settings = {"type": "rnnsearch", "encoder_unit": "tanh", "decoder_unit": "tanh"}
    a = random_arrays(**settings)
    forced = decoded(a, **settings)
    h = forced.annotations
    s = np.tanh(h.mean(axis=0) @ a["ff_state_W"] + a["ff_state_b"])
    same(forced.start, s)
    for j, y in enumerate([np.zeros(E), *a["Wemb_dec"][TARGET]]):
        e = [
            np.tanh(s @ a["decoder_W_comb_att"] + h_i @ a["decoder_Wc_att"] + a["decoder_b_att"])
            @ a["decoder_U_att"][:, 0]
            for h_i in h
        ]
        alpha = np.exp(e) / np.exp(e).sum()
        c = sum(weight * h_i for weight, h_i in zip(alpha, h, strict=True))
        s = np.tanh(y @ a["decoder_W"] + s @ a["decoder_U"] + c @ a["decoder_Wc"] + a["decoder_b"])
        same(forced.alignment[j], alpha)
        same(forced.contexts[j], c)
        same(forced.states[j], s)


def test_language_model_by_hand():
    """From a zero state, through two cells and one higher level with its residual sum."""
    settings = {"decoder_unit": "tanh", "decoder_depth": 2, "decoder_base_transition": 2}
    a = random_arrays(type="lm", **settings)
    forced = decoded(a, type="lm", **settings)
    h1 = h2 = np.zeros(D)
    for j, y in enumerate([np.zeros(E), *a["Wemb"][TARGET]]):
        h1 = plain(a, "encoder", h1, y)
        h1 = np.tanh(h1 @ a["encoder_U_drt_1"] + a["encoder_b_drt_1"])
        h2 = plain(a, "encoder_2", h2, h1)
        same(forced.states[j], h1)
        t = (h1 + h2) @ a["ff_logit_lstm_W"] + a["ff_logit_lstm_b"]
        t = np.tanh(t + y @ a["ff_logit_prev_W"] + a["ff_logit_prev_b"])
        p = np.exp(t @ a["ff_logit_W"] + a["ff_logit_b"])
        same(forced.distributions[j], np.log(p / p.sum()))


@each_row("unit", UNITS)
@each_row("normalization", ["none", "nematus"])
def test_base_transitions_are_those_of_a_cgru_that_sees_no_context(unit, normalization):
    """The position of the bias in a cell without input, for each type with its own names."""
    structure = {"decoder_base_transition": 4, "decoder_depth": 2, "decoder_high_transition": 2}
    structure |= {"encoder_unit": unit, "decoder_unit": unit, "encoder_depth": 2}
    norm = {"normalization": normalization}
    arrays = random_arrays(type="cgru", encoder="unidirectional", **structure)
    # The context enters neither the cells nor the readout; the first state is zero.
    for name in ("decoder_Wc", "decoder_Wcx", "ff_logit_ctx_W", "ff_state_W"):
        if name in arrays:
            arrays[name] *= 0
    if normalization == "nematus":
        arrays = with_norms(arrays)
    for name in ("decoder_Wc_lnb", "decoder_Wcx_lnb", "ff_logit_ctx_b", "ff_logit_ctx_ln_b"):
        if name in arrays:
            arrays[name] *= 0
    arrays["ff_state_b"] *= 0
    arrays["ff_state_ln_b"] = np.zeros(D)
    kinds = {"type": "cgru", "encoder": "unidirectional", **structure, **norm}
    expected = decoded(arrays, **kinds).distributions
    # decoder_U_nl -> decoder_U_drt_1, decoder_U_nl_drt_1 -> decoder_U_drt_2
    others = {}
    for name, array in arrays.items():
        for i in (2, 1):
            name = name.replace(f"_nl_drt_{i}", f"_drt_{i + 1}")
        others[name.replace("_nl", "_drt_1")] = array
    for type in ("encdec", "rnnsearch"):
        same(decoded(others, **kinds | {"type": type}).distributions, expected)
    # An encoder with zero weights, which ends in zero states.
    silent = {n: 0 * a if n.startswith("encoder") else a for n, a in others.items()}
    same(decoded(silent, **kinds | {"type": "seq2seq"}).distributions, expected)
    renamed = {"Wemb": arrays["Wemb_dec"]}
    for name, array in others.items():
        if not name.startswith(("encoder", "Wemb")):
            renamed[name.replace("decoder", "encoder")] = array
    same(decoded(renamed, type="lm", **structure, **norm).distributions, expected)


@pytest.mark.parametrize("type", TYPES)
def test_maxout(type):
    """The maximum of two neighbouring columns: with doubled columns it is linear."""
    encoder = "unidirectional"
    arrays = random_arrays(type=type, encoder=encoder)
    linear = decoded(arrays, type=type, encoder=encoder, readout_activation="linear")
    parts = [part for part in ("prev", "lstm", "ctx") if f"ff_logit_{part}_W" in arrays]
    names = [f"ff_logit_{part}_{root}" for part in parts for root in "Wb"]
    doubled = arrays | {name: np.repeat(arrays[name], 2, axis=-1) for name in names}
    maxout = {"type": type, "encoder": encoder, "readout_activation": "maxout"}
    same(decoded(doubled, **maxout).distributions, linear.distributions)
    # With a zero column beside each: max(t, 0).
    beside = arrays | {
        name: np.stack([arrays[name], 0 * arrays[name]], -1).reshape(*arrays[name].shape[:-1], -1)
        for name in names
    }
    relu = decoded(arrays, type=type, encoder=encoder, readout_activation="relu")
    same(decoded(beside, **maxout).distributions, relu.distributions)
    different(relu.distributions, linear.distributions)


@pytest.mark.parametrize("type", ["encdec", "rnnsearch", "cgru"])
def test_tied_embeddings(type):
    arrays = random_arrays(type=type)
    tied = {name: array for name, array in arrays.items() if name != "ff_logit_W"}
    shared_rows = tied | {"ff_logit_W": tied["Wemb_dec"].T}
    same(decoded(tied, type=type).distributions, decoded(shared_rows, type=type).distributions)
    of_all = {name: array for name, array in tied.items() if name != "Wemb_dec"}
    both = arrays | {"Wemb_dec": arrays["Wemb"], "ff_logit_W": arrays["Wemb"].T}
    both["ff_logit_b"] = of_all["ff_logit_b"] = np.zeros(VS)
    same(decoded(of_all, type=type).distributions, decoded(both, type=type).distributions)


@each_row("pooling", ["last", "mean", "max", "attention", None])
def test_labels_are_those_of_the_lessons(pooling):
    """Of a classifier, or of a tagger and its CRF."""
    kind, tags = ("classifier", [1]) if pooling else ("tagger", [1, 0, 2, 0])
    pooling = pooling or "mean"
    structure = typed(Type(kind), pooling=Pooling(pooling), crf=kind == "tagger")
    arrays = {name: x.astype(float) for name, x in small_arrays(structure).items()}
    given = {"type": kind, "encoder": "bidirectional", "pooling": pooling}
    labels = [tag + 2 for tag in tags]
    found = LabelModel(arrays, **given).force_decode(SOURCE, labels).distributions[:-1, 2:]
    ids = [*SOURCE, 0]
    if kind == "classifier":
        same(np.exp(found[0]), equations.classifier(arrays, ids, pooling))
        return
    same(np.exp(found), equations.tagger(arrays, ids))
    logits = equations.label_logits(arrays, equations.annotations(arrays, ids)[:-1])
    tagging = LabelModel(arrays, crf=True, **given).force_decode(SOURCE, labels)
    same(np.exp(tagging.log_probs.sum()), equations.crf(arrays, logits, tags))
