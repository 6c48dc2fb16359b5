"""The one table of parameters: symbol, place in the model, shape, and name in every dialect.

Nothing else in this package knows how a parameter is called or shaped: variables are created
from `parameters(structure)`, files are read and written through `Parameter.names`, and the
table in the documentation is printed from it.

Shapes are written in letters that `Structure.sizes` binds: D state, C = 2D context, A = C width
of the attention's hidden layer, E target and Es source embedding, V target vocabulary, Vs0 Vs1..
rows of the source factors, M softmaxes of a mixture. Gates are stored [reset | update].

Symbols are those of the DL4MT cGRU note (eq. 1-12); primes mark REC1, its first recurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .structure import DIRECTIONS, Activation, BiasPlace, Cell, Normalization, Structure


class Dialect(StrEnum):
    """The programs (or ages of a program) whose files are read and written."""

    NEMATUS = "nematus"  # Nematus-Theano and DL4MT share every name; cgru's .npz too
    NEMATUS_TF = "nematus-tf"
    NEMATUS_TF_01 = "nematus-tf-0.1"  # Nematus-TF before deep models, variables since renamed
    AMUN = "marian-amun"
    MARIAN_NEMATUS = "marian-nematus"
    S2S = "marian-s2s"
    NMTPY = "nmtpy"


MARIAN = (Dialect.AMUN, Dialect.MARIAN_NEMATUS, Dialect.S2S)


@dataclass(frozen=True)
class Parameter:
    """One array of a model.

    name is the DL4MT/Nematus name; path the place in the model (Keras variable, HDF5 dataset);
    names gives the name in each dialect that can hold the array; transposed the names under
    which a dialect stores the transposed array instead. cell is the recurrent unit that the array
    belongs to; feature what its presence in a file tells of the model, "" where nothing.
    """

    symbol: str
    path: str
    shape: tuple[str, ...]
    initializer: str
    names: Mapping[Dialect, str]
    transposed: Mapping[Dialect, str] = field(default_factory=dict)
    cell: Cell | None = None
    feature: str = ""

    @property
    def name(self) -> str:
        """The DL4MT/Nematus name, which is also the name in cgru's own `.npz`."""
        return self.names[Dialect.NEMATUS]

    def size(self, structure: Structure) -> tuple[int, ...]:
        """The shape in numbers."""
        sizes = structure.sizes()
        return tuple(sizes[letter] for letter in self.shape)


# Arrays that stand in legacy files and are no parameters of the model: they are known, and skipped.
TRAINING_ARRAYS = frozenset({"uidx", "history_errs", "zipped_params", "opts", "tparams", "time"})
TRAINING_PREFIXES = ("adam_", "adadelta_", "rmsprop_", "prior_", "beta1_power", "beta2_power")
TRAINING_SUFFIXES = ("/Adam", "/Adam_1", "/Adadelta", "/Adadelta_1", "/RMSProp", "/RMSProp_1")

# The attention's second bias: the softmax over source positions is blind to it (formats of DL4MT
# and Nematus have it, Marian takes its presence as the sign of a Nematus file). Kept, not computed.
INERT = {
    Dialect.NEMATUS: "decoder_c_tt",
    Dialect.AMUN: "decoder_c_tt",
    Dialect.MARIAN_NEMATUS: "decoder_c_tt",
    Dialect.NMTPY: "decoder_c_att",
}


def is_training_array(name: str) -> bool:
    """Whether a legacy array belongs to an optimizer or to the course of training."""
    return (
        name in TRAINING_ARRAYS
        or name.startswith(TRAINING_PREFIXES)
        or name.endswith(TRAINING_SUFFIXES)
    )


def parameters(structure: Structure) -> tuple[Parameter, ...]:
    """The table's rows for one model, in the order of computation."""
    return tuple(_rows(structure))


# Roots of a cell's arrays: symbol (without the prime of REC1), shape and initialiser, and the name
# that Nematus-TF gives the same array.
_RECURRENT = {
    "U": ("U_r U_z", ("D", "2D"), "orthogonal", "state_to_gates"),
    "Ux": ("U", ("D", "D"), "orthogonal", "state_to_proposal"),
}
_INPUT = {
    "W": ("W_r W_z", "2D", "normal", "input_to_gates"),
    "Wx": ("W", "D", "normal", "input_to_proposal"),
}
_BIAS = {
    "b": ("b_r b_z", ("2D",), "zeros", "gates_bias"),
    "bx": ("b", ("D",), "zeros", "proposal_bias"),
}
_NORMS = {"U": "gates_state_norm", "Ux": "proposal_state_norm"} | {
    "W": "gates_x_norm",
    "Wx": "proposal_x_norm",
}
_READOUT = {
    "prev": ("V_o", "E", "prev_emb_to_hidden", 0),
    "lstm": ("U_o", "D", "state_to_hidden", 1),
    "ctx": ("C_o", "C", "attended_context_to_hidden", 2),
}


def _rows(s: Structure) -> Iterator[Parameter]:
    yield from _embeddings(s)
    for level in s.encoder_levels():
        for direction in DIRECTIONS:
            for cell in s.encoder_cells(direction, level):
                yield from _cell(s, cell)
    yield from _feed_forward(
        s,
        nematus="ff_state",
        tf="decoder/initial_state_constructor",
        s2s="decoder_ff_state",
        path="decoder/start",
        symbol="W_init",
        shape=("C", "D"),
    )
    first, *behind_attention = s.base_cells()
    yield from _cell(s, first)
    yield from _attention(s)
    for cell in behind_attention:
        yield from _cell(s, cell)
    for level in s.high_levels():
        for cell in s.high_cells(level):
            yield from _cell(s, cell)
    yield from _readout(s)


def _embeddings(s: Structure) -> Iterator[Parameter]:
    for factor in range(len(s.source_embeddings)):
        name = f"Wemb{factor or ''}"
        tf = "encoder/embedding/embeddings" + (f"_{factor}" if factor else "")
        names = {Dialect.NEMATUS: name, Dialect.NEMATUS_TF: tf, Dialect.NEMATUS_TF_01: tf}
        if not factor:
            names |= {Dialect.AMUN: name, Dialect.MARIAN_NEMATUS: name}
            names[Dialect.S2S] = "Wemb" if s.shared_embeddings else "encoder_Wemb"
            names[Dialect.NMTPY] = "Wemb" if s.shared_embeddings else "Wemb_enc"
        yield Parameter(
            "E_x", f"encoder/embedding{factor or ''}", (f"Vs{factor}", f"Es{factor}"),
            "normal", names,
        )  # fmt: skip
    if not s.shared_embeddings:
        names = _same("Wemb_dec", Dialect.AMUN, Dialect.MARIAN_NEMATUS, Dialect.NMTPY) | {
            Dialect.NEMATUS_TF: "decoder/embedding/embeddings",
            Dialect.NEMATUS_TF_01: "decoder/y_embeddings_layer/embeddings",
            Dialect.S2S: "decoder_Wemb",
        }
        yield Parameter(
            "E_y", "decoder/embedding", ("V", "E"), "normal", names, feature="target-embedding"
        )


def _cell(s: Structure, cell: Cell) -> Iterator[Parameter]:
    """A GRU's arrays: recurrent, of the input (first cell only), biases, normalisation."""
    prime = "'" if cell.part == "decoder" and cell.level == 1 and cell.transition == 0 else ""
    roots = dict(_RECURRENT)
    if cell.input is not None:
        roots |= {root: (a, (cell.input, b), c, d) for root, (a, b, c, d) in _INPUT.items()}
    for root, (symbol, shape, initializer, tf) in roots.items():
        yield _of_cell(s, cell, root, symbol + prime, shape, initializer, tf)
    if cell.bias is not BiasPlace.NONE:
        for root, (symbol, shape, initializer, tf) in _BIAS.items():
            yield _of_cell(s, cell, root, symbol + prime, shape, initializer, tf)
    for root, (symbol, shape, _, _) in roots.items():
        yield from _norms(
            s,
            lambda suffix, root=root: _cell_names(s, cell, root, suffix, _NORMS[root]),
            f"{symbol}{prime}",
            f"{cell.path}/{root}",
            shape[-1],
            cell,
        )
    if s.normalization is Normalization.MARIAN:
        for gamma, needed in (("gamma1", cell.input is not None), ("gamma2", True)):
            if needed:
                names = _gamma_names(s, cell, gamma)
                yield Parameter(
                    "gamma", f"{cell.path}/{gamma}", ("3D",), "ones", names, {}, cell, "gamma"
                )


def _of_cell(
    s: Structure,
    cell: Cell,
    root: str,
    symbol: str,
    shape: tuple[str, ...],
    initializer: str,
    tf: str,
) -> Parameter:
    names = _cell_names(s, cell, root, "", tf)
    feature = "transition-bias" if root in _BIAS and cell.transition else ""
    return Parameter(symbol, f"{cell.path}/{root}", shape, initializer, names, {}, cell, feature)


def _cell_names(s: Structure, cell: Cell, root: str, suffix: str, tf: str) -> dict[Dialect, str]:
    """What each dialect calls the array `root` of a cell; suffix is that of a norm's array."""
    first_level = cell.level == 1
    level = "" if first_level else f"_{cell.level}"
    transition = cell.transition
    if cell.part == "encoder":
        prefix = "encoder" + ("_r" if cell.direction == "backward" else "") + level
        nematus = f"{prefix}_{root}" + (f"_drt_{transition}" if transition else "")
        stack = _stack(s, cell)
        scope = f"encoder/{stack}-stack/level{cell.level - 1}/gru{transition}"
        scope_01 = f"encoder/{stack}Encoder" if first_level and not transition else None
        tail_01 = ""
        nmtpy = nematus if first_level and not transition else None
    elif first_level:
        nl, drt = bool(transition), transition - 1
        behind = {"W": "Wc", "Wx": "Wcx"}.get(root, f"{root}_nl") if nl else root
        nematus = f"decoder_{behind}" + (f"_drt_{drt}" if drt > 0 else "")
        scope = f"decoder/base/gru{transition}"
        scope_01 = "decoder" if transition < 2 else None
        tail_01 = "_1" if transition else ""
        nmtpy = nematus if transition < 2 else None
    else:
        nematus = f"decoder{level}_{root}" + (f"_drt_{transition}" if transition else "")
        scope = f"decoder/high/level{cell.level - 2}/gru{transition}"
        scope_01, tail_01, nmtpy = None, "", None

    names = {
        Dialect.NEMATUS: nematus + suffix,
        Dialect.NEMATUS_TF: f"{scope}/{tf}{_tf_norm(suffix)}",
    }
    if scope_01:
        names[Dialect.NEMATUS_TF_01] = f"{scope_01}/{tf}{tail_01}{_tf_norm(suffix)}"
    if cell.bias is not BiasPlace.NONE:  # Marian's cells always have a bias
        s2s = f"{_s2s_cell(s, cell)}_{root}{suffix}"
        names[Dialect.MARIAN_NEMATUS] = names[Dialect.NEMATUS] if first_level else s2s
        if not suffix:
            names[Dialect.S2S] = s2s
            if nmtpy:  # amun, like nmtpy, holds the plain cGRU only
                names[Dialect.AMUN] = nematus
    if nmtpy and not suffix:
        names[Dialect.NMTPY] = nmtpy
    return names


def _gamma_names(s: Structure, cell: Cell, gamma: str) -> dict[Dialect, str]:
    """Marian's gains; the name of our own extends amun's to cells that amun does not have."""
    shallow = cell.level == 1 and cell.transition == 0
    if cell.part == "encoder":
        prefix = "encoder" + ("_r" if cell.direction == "backward" else "")
    elif cell.level == 1 and cell.transition < 2:
        prefix, shallow = f"decoder_cell{cell.transition + 1}", True
    else:
        prefix = "decoder"
    level = "" if cell.level == 1 else f"_{cell.level}"
    drt = cell.transition - (1 if cell.part == "decoder" and cell.level == 1 else 0)
    nl = "_nl" if cell.part == "decoder" and cell.level == 1 else ""
    own = f"{prefix}_{gamma}" if shallow else (
        f"{prefix}{level}" + (f"{nl}_drt_{drt}" if drt > 0 else "") + f"_{gamma}"
    )  # fmt: skip
    names = {Dialect.NEMATUS: own, Dialect.S2S: f"{_s2s_cell(s, cell)}_{gamma}"}
    if shallow:
        names[Dialect.AMUN] = own
    return names


def _stack(s: Structure, cell: Cell) -> str:
    """Which stack a cell of an alternating encoder belongs to.

    Theano names cells by the direction they read in; Nematus-TF and Marian by the stack, whose
    direction alternates level by level.
    """
    other = {"forward": "backward", "backward": "forward"}
    odd = s.alternating and cell.level % 2 == 0
    return other[cell.direction] if odd else cell.direction


def _s2s_cell(s: Structure, cell: Cell) -> str:
    if cell.part == "encoder":
        name = "encoder_bi" + ("_r" if _stack(s, cell) == "backward" else "")
        if cell.level > 1:
            name += f"_l{cell.level}"
        if cell.level > 1 or cell.transition:
            name += f"_cell{cell.transition + 1}"
        return name
    level = "" if cell.level == 1 else f"_l{cell.level}"
    return f"decoder{level}_cell{cell.transition + 1}"


def _tf_norm(suffix: str) -> str:
    return {"": "", "_lns": "/new_std", "_lnb": "/new_mean", "_rms": "/scale"}.get(suffix, suffix)


def _norms(
    s: Structure,
    names: Callable[[str], dict[Dialect, str]],
    symbol: str,
    path: str,
    width: str,
    cell: Cell | None = None,
) -> Iterator[Parameter]:
    """Gain and bias of one product's normalisation; names(suffix) gives each dialect's name."""

    def row(letter: str, suffix: str, initializer: str, dialects: dict, feature: str) -> Parameter:
        return Parameter(
            f"{letter}({symbol})", path + suffix, (width,), initializer, dialects, {}, cell, feature
        )

    if s.normalization is Normalization.NEMATUS:
        yield row("g", "_lns", "ones", names("_lns"), "gain")
        yield row("b", "_lnb", "zeros", names("_lnb"), "gain-bias")
    elif s.normalization is Normalization.RMS:
        tf_only = (Dialect.NEMATUS_TF, Dialect.NEMATUS_TF_01)
        dialects = {d: n for d, n in names("_rms").items() if d in tf_only}
        dialects[Dialect.NEMATUS] = names("_lns")[Dialect.NEMATUS]
        yield row("g", "_lns", "ones", dialects, "gain")
    if s.weight_normalization:
        only = {Dialect.NEMATUS: names("_wns")[Dialect.NEMATUS]}
        yield row("g", "_wns", "ones", only, "weight-norm")


def _attention(s: Structure) -> Iterator[Parameter]:
    rows = [
        ("U_a", "W_comb_att", ("D", "A"), "normal", "state_to_hidden", "hidden_state_norm"),
        ("W_a", "Wc_att", ("C", "A"), "orthogonal", "context_to_hidden", "hidden_context_norm"),
        ("b_a", "b_att", ("A",), "zeros", "hidden_bias", None),
        ("v_a", "U_att", ("A", "1"), "normal", "hidden_to_score", None),
    ]
    for symbol, root, shape, initializer, tf, _ in rows:
        names = _same(f"decoder_{root}", *MARIAN, Dialect.NMTPY) | {
            Dialect.NEMATUS_TF: f"decoder/base/attention/{tf}",
            Dialect.NEMATUS_TF_01: f"decoder/{tf}",
        }
        yield Parameter(symbol, f"decoder/attention/{root}", shape, initializer, names)
    for symbol, root, shape, _, _, norm in rows:
        if norm:

            def names(suffix: str, root=root, norm=norm) -> dict[Dialect, str]:
                return _same(f"decoder_{root}{suffix}", Dialect.MARIAN_NEMATUS) | {
                    Dialect.NEMATUS_TF: f"decoder/base/attention/{norm}{_tf_norm(suffix)}",
                    Dialect.NEMATUS_TF_01: f"decoder/{norm}{_tf_norm(suffix)}",
                }

            yield from _norms(s, names, symbol, f"decoder/attention/{root}", shape[-1])
    if s.weight_normalization:
        names = _same("decoder_U_att_wns")
        yield Parameter(
            "g(v_a)", "decoder/attention/U_att_wns", ("1",), "ones", names, feature="weight-norm"
        )
    if s.normalization is Normalization.MARIAN:
        for gamma in ("gamma1", "gamma2"):
            names = _same(f"decoder_att_{gamma}", Dialect.AMUN, Dialect.S2S)
            yield Parameter(
                "gamma", f"decoder/attention/{gamma}", ("A",), "ones", names, feature="gamma"
            )


def _readout(s: Structure) -> Iterator[Parameter]:
    for part, (symbol, width, tf, index) in _READOUT.items():
        yield from _feed_forward(
            s,
            nematus=f"ff_logit_{part}",
            nmtpy="ff_logit_gru" if part == "lstm" else f"ff_logit_{part}",
            tf=f"decoder/next_word_predictor/{tf}",
            s2s="decoder_ff_logit_l1",
            index=index,
            path=f"decoder/readout/{part}",
            symbol=symbol,
            shape=(width, "E"),
        )
    if s.readout_activation is Activation.PRELU:
        yield Parameter(
            "a", "decoder/readout/prelu_slope", ("E",), "ones",
            _tf_only("ff_logit_prelu_slope", "decoder/next_word_predictor/hidden_prelu/slope"),
            feature="prelu",
        )  # fmt: skip
    yield from _output(s)
    if s.mixture > 1:
        for root, shape, initializer in (("W", ("E", "M"), "normal"), ("b", ("M",), "zeros")):
            yield Parameter(
                "W_pi", f"decoder/mixture/pi/{root}", shape, initializer,
                _tf_only(
                    f"ff_logit_pi_{root}", f"decoder/next_word_predictor/hidden_to_pi_logits/{root}"
                ),
                feature="mixture",
            )  # fmt: skip
        for k in range(s.mixture):
            yield from _feed_forward(
                s,
                nematus=f"ff_logit_mos_{k}",
                tf=f"decoder/next_word_predictor/hidden_to_mos_hidden_{k}",
                path=f"decoder/mixture/hidden{k}",
                symbol=f"W_{k}",
                shape=("E", "E"),
            )
    if s.lexical:
        yield from _feed_forward(
            s,
            nematus="ff_lexical",
            tf="decoder/lexical",
            path="decoder/lexical/hidden",
            symbol="W_l",
            shape=("Es", "Es"),
        )
        for root, shape, initializer in (("W", ("Es", "V"), "normal"), ("b", ("V",), "zeros")):
            yield Parameter(
                "W_lo", f"decoder/lexical/output/{root}", shape, initializer,
                _tf_only(
                    f"ff_logit_lexical_{root}",
                    f"decoder/next_word_predictor/lexical_to_logits/{root}",
                ),
                feature="lexical",
            )  # fmt: skip


def _output(s: Structure) -> Iterator[Parameter]:
    tf = "decoder/next_word_predictor/hidden_to_logits"
    rows = [("b", "b_o", ("V",), "zeros")]
    if not s.tied_output:
        rows.insert(0, ("W", "W_o", ("E", "V"), "normal"))
    for root, symbol, shape, initializer in rows:
        names = _same(f"ff_logit_{root}", Dialect.AMUN, Dialect.MARIAN_NEMATUS, Dialect.NMTPY) | {
            Dialect.NEMATUS_TF: f"{tf}/{root}",
            Dialect.NEMATUS_TF_01: f"{tf}/{root}",
            Dialect.S2S: f"decoder_ff_logit_l2_{root}",
        }
        if root == "b" and s.tied_output:  # nmtpy's tied output layer has no bias
            del names[Dialect.NMTPY]
        transposed = dict.fromkeys(MARIAN, "decoder_ff_logit_l2_Wt") if root == "W" else {}
        feature = "output" if root == "W" else ""
        yield Parameter(
            symbol, f"decoder/output/{root}", shape, initializer, names, transposed, None, feature
        )


def _feed_forward(
    s: Structure,
    *,
    nematus: str,
    tf: str,
    path: str,
    symbol: str,
    shape: tuple[str, str],
    s2s: str | None = None,
    nmtpy: str | None = None,
    index: int | str = "",
) -> Iterator[Parameter]:
    """W, b and the norm of x W + b; s2s is None where Marian and nmtpy know no such layer."""
    for root, size, initializer in (("W", shape, "normal"), ("b", shape[1:], "zeros")):
        names = _tf_only(f"{nematus}_{root}", f"{tf}/{root}")
        if s2s:
            names |= dict.fromkeys((Dialect.AMUN, Dialect.MARIAN_NEMATUS), f"{nematus}_{root}")
            names[Dialect.S2S] = f"{s2s}_{root}{index}"
            names[Dialect.NMTPY] = f"{nmtpy or nematus}_{root}"
        yield Parameter(symbol, f"{path}/{root}", size, initializer, names)

    def norm_names(suffix: str) -> dict[Dialect, str]:
        own = {"_lns": "_ln_s", "_lnb": "_ln_b", "_wns": "_W_wns", "_rms": "_ln_s"}[suffix]
        names = _tf_only(f"{nematus}{own}", f"{tf}{_tf_norm(suffix)}")
        if s2s:
            names[Dialect.MARIAN_NEMATUS] = f"{nematus}{own}"
        return names

    yield from _norms(s, norm_names, symbol, f"{path}/W", shape[1])
    if s.normalization is Normalization.MARIAN and s2s:
        amun = f"ff_logit_l1_gamma{index}" if index != "" else f"{nematus}_gamma"
        names = _same(amun, Dialect.AMUN) | {Dialect.S2S: f"{s2s}_gamma{index}"}
        yield Parameter("gamma", f"{path}/gamma", shape[1:], "ones", names, feature="gamma")


def _same(name: str, *dialects: Dialect) -> dict[Dialect, str]:
    return dict.fromkeys((Dialect.NEMATUS, *dialects), name)


def _tf_only(nematus: str, tf: str) -> dict[Dialect, str]:
    return {
        Dialect.NEMATUS: nematus,
        Dialect.NEMATUS_TF: tf,
        Dialect.NEMATUS_TF_01: tf,
    }
