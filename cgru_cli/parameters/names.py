"""The table of all parameters: symbol, place in the model, shape, and name in every dialect.

It is the only place with names and shapes of parameters: `parameters(structure)` creates variables,
`Parameter.names` reads and writes files, and the documentation prints the table. `cell_names.py`
has the rows of cells.

Shapes are written in letters with sizes from `Structure.sizes`: D state, C context (2D with two
readers), A = C width of the attention's hidden layer, E target and Es source embedding, R readout
(E, or 2E with maxout), V target vocabulary, Vs0 Vs1.. rows of the source factors, L labels, M
softmaxes of a mixture, N labels or numbers of a condition. Gates are stored [reset | update], an
LSTM's blocks [f | i | c | o].

Symbols are those of the DL4MT cGRU note (eq. 1-12); primes mark REC1, its first recurrence.
"""

import dataclasses
from collections.abc import Iterator

from .cell_names import cell_rows
from .cells import base_cells, encoder_cells, high_cells
from .parameter import MARIAN, Dialect, Parameter, norm_rows, same, tf_norm, tf_only
from .structure import Activation, DecoderStart, Normalization, Pooling, Structure, Type

# Arrays to skip in legacy files, because they are not parameters of the model.
TRAINING_ARRAYS = frozenset({"uidx", "history_errs", "zipped_params", "opts", "tparams", "time"})
TRAINING_PREFIXES = (
    *("adam_", "adadelta_", "rmsprop_", "sgdmomentum_", "prior_", "beta1_power", "beta2_power"),
    "accum",  # gradients of Nematus-TF, in checkpoints of early 2019
)
TRAINING_SUFFIXES = ("/Adam", "/Adam_1", "/Adadelta", "/Adadelta_1", "/RMSProp", "/RMSProp_1")

# The attention's second bias, which has no effect on the softmax over source positions. Files of
# DL4MT and Nematus have it, and Marian recognises files of Nematus by it. cgru only stores it.
INERT = same("decoder_c_tt", Dialect.AMUN, Dialect.MARIAN_NEMATUS)
INERT[Dialect.NMTPY] = "decoder_c_att"


def is_training_array(name: str) -> bool:
    """Whether an array in a legacy file belongs to an optimizer or to a training run."""
    return (
        name in TRAINING_ARRAYS
        or name.startswith(TRAINING_PREFIXES)
        or name.endswith(TRAINING_SUFFIXES)
    )


def parameters(structure: Structure) -> tuple[Parameter, ...]:
    """The table's rows for one model, in the order of computation."""
    return tuple(_rows(structure))


def name_at(path: str, structure: Structure) -> str:
    """DL4MT's and Nematus' name of the array at a path in a model, e.g. `decoder/output/b`."""
    return next(row.name for row in parameters(structure) if row.path == path)


_PREDICTOR = "decoder/next_word_predictor"  # Nematus-TF's readout
_READOUT = (
    ("prev", "V_o", "E", "prev_emb_to_hidden"),
    ("lstm", "U_o", "D", "state_to_hidden"),
    ("ctx", "C_o", "C", "attended_context_to_hidden"),
)


def target_table(structure: Structure) -> str:
    """Path of the target embeddings, or of the source's if both sides share a matrix."""
    shared = structure.shared_embeddings and structure.type.reads_source
    return "encoder/embedding" if shared else "decoder/embedding"


def _rows(s: Structure) -> Iterator[Parameter]:
    yield from _embeddings(s)
    for level in s.encoder_levels():
        for direction in s.directions(level):
            for cell in encoder_cells(s, direction, level):
                yield from cell_rows(s, cell)
    if not s.type.writes_text:
        yield from _labels(s)
        return
    if s.type.has_context or s.condition_size:
        last_backward = s.decoder_start is DecoderStart.LAST_BACKWARD
        shape = "N" if s.condition_size else "D" if last_backward else "C", "D"
        names = "ff_state", "decoder/initial_state_constructor", "decoder_ff_state"
        yield from _feed_forward(s, "W_init", "decoder/start", shape, *names)
    first, *behind_attention = base_cells(s)
    yield from cell_rows(s, first)
    if s.type.attends:
        yield from _attention(s)
    for cell in behind_attention:
        yield from cell_rows(s, cell)
    for level in s.high_levels():
        for cell in high_cells(s, level):
            yield from cell_rows(s, cell)
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
        path, shape = f"encoder/embedding{factor or ''}", (f"Vs{factor}", f"Es{factor}")
        yield Parameter("E_x", path, shape, "normal", names)
    if s.embeds_target and target_table(s) == "decoder/embedding":
        if s.type is Type.LM:  # shared: Marian's tied-embeddings-all
            names = same("Wemb")
        else:
            names = same("Wemb_dec", Dialect.AMUN, Dialect.MARIAN_NEMATUS, Dialect.NMTPY)
            names[Dialect.NEMATUS_TF] = "decoder/embedding/embeddings"
            names[Dialect.NEMATUS_TF_01] = "decoder/y_embeddings_layer/embeddings"
        names[Dialect.S2S] = "Wemb" if s.shared_embeddings else "decoder_Wemb"
        yield Parameter("E_y", "decoder/embedding", ("V", "E"), "normal", names)


def _labels(s: Structure) -> Iterator[Parameter]:
    """The pooling and the output of models that predict labels, which only cgru has."""
    if s.type is Type.CLASSIFIER and s.pooling is Pooling.ATTENTION:
        for symbol, root, shape, initializer, *_ in _ATTENTION[1:]:
            yield Parameter(symbol, f"pooling/{root}", shape, initializer, same(f"pooling_{root}"))
        path = "pooling/Wc_att"
        yield from norm_rows(s, lambda suffix: same(f"pooling_Wc_att{suffix}"), "W_a", path, "A")
        if s.normalization is Normalization.MARIAN:
            names = same("pooling_gamma1")
            yield Parameter("gamma", "pooling/gamma1", ("A",), "ones", names)
    yield Parameter("W_o", "decoder/output/W", ("C", "L"), "normal", same("ff_logit_W"))
    yield Parameter("b_o", "decoder/output/b", ("L",), "zeros", same("ff_logit_b"))
    if s.crf:
        yield Parameter("a", "decoder/crf/start", ("L",), "zeros", same("crf_start"))
        names = same("crf_transitions")
        yield Parameter("A", "decoder/crf/transitions", ("L", "L"), "zeros", names)
        yield Parameter("b", "decoder/crf/end", ("L",), "zeros", same("crf_end"))


# Symbol, name, shape, initialiser; Nematus-TF's names of the array and of its norm.
_ATTENTION: tuple[tuple[str, str, tuple[str, ...], str, str, str], ...] = (
    ("U_a", "W_comb_att", ("D", "A"), "normal", "state_to_hidden", "hidden_state_norm"),
    ("W_a", "Wc_att", ("C", "A"), "orthogonal", "context_to_hidden", "hidden_context_norm"),
    ("b_a", "b_att", ("A",), "zeros", "hidden_bias", ""),
    ("v_a", "U_att", ("A", "1"), "normal", "hidden_to_score", ""),
)


def _attention(s: Structure) -> Iterator[Parameter]:
    for symbol, root, shape, initializer, tf, _ in _ATTENTION:
        names = same(f"decoder_{root}", *MARIAN, Dialect.NMTPY)
        names[Dialect.NEMATUS_TF] = f"decoder/base/attention/{tf}"
        names[Dialect.NEMATUS_TF_01] = f"decoder/{tf}"
        yield Parameter(symbol, f"decoder/attention/{root}", shape, initializer, names)
    for symbol, root, shape, _, _, norm in _ATTENTION:
        if norm:

            def norm_names(suffix: str, root: str = root, norm: str = norm) -> dict[Dialect, str]:
                names = same(f"decoder_{root}{suffix}", Dialect.MARIAN_NEMATUS)
                names[Dialect.NEMATUS_TF] = f"decoder/base/attention/{norm}{tf_norm(suffix)}"
                names[Dialect.NEMATUS_TF_01] = f"decoder/{norm}{tf_norm(suffix)}"
                return names

            yield from norm_rows(s, norm_names, symbol, f"decoder/attention/{root}", shape[-1])
    if s.weight_normalization:
        names = same("decoder_U_att_wns")
        yield Parameter("g(v_a)", "decoder/attention/U_att_wns", ("1",), "ones", names)
    if s.normalization is Normalization.MARIAN:
        for gamma in ("gamma1", "gamma2"):
            names = same(f"decoder_att_{gamma}", Dialect.AMUN, Dialect.S2S)
            yield Parameter("gamma", f"decoder/attention/{gamma}", ("A",), "ones", names)


def _readout(s: Structure) -> Iterator[Parameter]:
    for i, (part, symbol, width, tf) in enumerate(_READOUT):
        if (part == "prev" and not s.feedback) or (part == "ctx" and not s.type.has_context):
            continue
        nematus, path = f"ff_logit_{part}", f"decoder/readout/{part}"
        names = nematus, f"{_PREDICTOR}/{tf}", "decoder_ff_logit_l1"
        nmtpy = "ff_logit_gru" if part == "lstm" else nematus
        yield from _feed_forward(s, symbol, path, (width, "R"), *names, nmtpy, str(i))
    if s.readout_activation is Activation.PRELU:
        path = "decoder/readout/prelu_slope"
        slope = tf_only("ff_logit_prelu_slope", f"{_PREDICTOR}/hidden_prelu/slope")
        yield Parameter("a", path, ("E",), "ones", slope)
    yield from _output(s)
    if s.mixture > 1:
        nematus, tf = "ff_logit_pi", f"{_PREDICTOR}/hidden_to_pi_logits"
        yield from _layer("W_pi", "decoder/mixture/pi", ("E", "M"), nematus, tf)
        for k in range(s.mixture):
            nematus, tf = f"ff_logit_mos_{k}", f"{_PREDICTOR}/hidden_to_mos_hidden_{k}"
            path = f"decoder/mixture/hidden{k}"
            yield from _feed_forward(s, f"W_{k}", path, ("E", "E"), nematus, tf)
    if s.lexical:
        path, tf = "decoder/lexical/hidden", "decoder/lexical"
        yield from _feed_forward(s, "W_l", path, ("Es", "Es"), "ff_lexical", tf)
        nematus, tf = "ff_logit_lexical", f"{_PREDICTOR}/lexical_to_logits"
        yield from _layer("W_lo", "decoder/lexical/output", ("Es", "V"), nematus, tf)


def _output(s: Structure) -> Iterator[Parameter]:
    for root, shape, initializer in (("W", ("E", "V"), "normal"), ("b", ("V",), "zeros")):
        if root == "W" and s.tied_output:
            continue
        names = tf_only(f"ff_logit_{root}", f"{_PREDICTOR}/hidden_to_logits/{root}")
        names |= same(f"ff_logit_{root}", Dialect.AMUN, Dialect.MARIAN_NEMATUS)
        names[Dialect.S2S] = f"decoder_ff_logit_l2_{root}"
        if not s.tied_output:  # nmtpy's tied output layer has no bias
            names[Dialect.NMTPY] = f"ff_logit_{root}"
        transposed = "decoder_ff_logit_l2_Wt" if root == "W" else ""
        path = f"decoder/output/{root}"
        yield Parameter(f"{root}_o", path, shape, initializer, names, transposed)


def _layer(
    symbol: str, path: str, shape: tuple[str, str], nematus: str, tf: str
) -> Iterator[Parameter]:
    """W and b of x W + b, in Nematus and Nematus-TF."""
    for root, size, initializer in (("W", shape, "normal"), ("b", shape[1:], "zeros")):
        names = tf_only(f"{nematus}_{root}", f"{tf}/{root}")
        yield Parameter(symbol, f"{path}/{root}", size, initializer, names)


def _feed_forward(
    s: Structure,
    symbol: str,
    path: str,
    shape: tuple[str, str],
    nematus: str,
    tf: str,
    s2s: str = "",
    nmtpy: str = "",
    index: str = "",
) -> Iterator[Parameter]:
    """W, b and the norm of x W + b; s2s: empty for layers that Marian and nmtpy lack."""
    for row in _layer(symbol, path, shape, nematus, tf):
        if s2s:
            root = row.path[-1]
            names = same(row.name, Dialect.AMUN, Dialect.MARIAN_NEMATUS)
            names[Dialect.S2S] = f"{s2s}_{root}{index}"
            names[Dialect.NMTPY] = f"{nmtpy or nematus}_{root}"
            row = dataclasses.replace(row, names={**row.names, **names})
        yield row

    def norm_names(suffix: str) -> dict[Dialect, str]:
        own = {"_lns": "_ln_s", "_lnb": "_ln_b", "_wns": "_W_wns", "_rms": "_ln_s"}[suffix]
        names = tf_only(f"{nematus}{own}", f"{tf}{tf_norm(suffix)}")
        if s2s:
            names[Dialect.MARIAN_NEMATUS] = f"{nematus}{own}"
        return names

    yield from norm_rows(s, norm_names, symbol, f"{path}/W", shape[1])
    if s.normalization is Normalization.MARIAN and s2s:
        amun = f"ff_logit_l1_gamma{index}" if index else f"{nematus}_gamma"
        gammas = same(amun, Dialect.AMUN) | {Dialect.S2S: f"{s2s}_gamma{index}"}
        yield Parameter("gamma", f"{path}/gamma", shape[1:], "ones", gammas)
