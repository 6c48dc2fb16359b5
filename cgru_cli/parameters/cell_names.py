"""The rows of the name table for recurrent cells, by unit and place."""

import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .cells import BiasPlace, CellPlace
from .parameter import Dialect, Parameter, norm_rows, tf_norm
from .structure import WITHOUT_STATE_PRODUCT, Encoder, Normalization, Structure, Type, Unit


class _Root(NamedTuple):
    """A kind of array in a cell; tf: Nematus-TF's name for the array and for its norm."""

    symbol: str
    width: str
    tf: str = ""
    tf_norm: str = ""


class _Roots(NamedTuple):
    """All kinds of arrays of a recurrent unit, by their DL4MT names."""

    recurrent: Mapping[str, _Root]  # (D, width)
    input: Mapping[str, _Root]  # (input, width)
    bias: Mapping[str, _Root]  # (width,)


_GATED = _Roots(
    {
        "U": _Root("U_r U_z", "2D", "state_to_gates", "gates_state_norm"),
        "Ux": _Root("U", "D", "state_to_proposal", "proposal_state_norm"),
    },
    {
        "W": _Root("W_r W_z", "2D", "input_to_gates", "gates_x_norm"),
        "Wx": _Root("W", "D", "input_to_proposal", "proposal_x_norm"),
    },
    {
        "b": _Root("b_r b_z", "2D", "gates_bias"),
        "bx": _Root("b", "D", "proposal_bias"),
    },
)
_PLAIN = _Roots({"U": _Root("U", "D")}, {"W": _Root("W", "D")}, {"b": _Root("b", "D")})
_ROOTS = {
    Unit.GRU: _GATED,
    Unit.GRU_BEFORE: _GATED,
    Unit.LSTM: _Roots(
        {"U": _Root("U_f U_i U_c U_o", "4D")},
        {"W": _Root("W_f W_i W_c W_o", "4D")},
        {"b": _Root("b_f b_i b_c b_o", "4D")},
    ),
    Unit.SRU: _Roots(
        {},
        {"W": _Root("W", "D"), "Wf": _Root("W_f", "D"), "Wr": _Root("W_r", "D")},
        {"bf": _Root("b_f", "D"), "br": _Root("b_r", "D")},
    ),
    Unit.SSRU: _Roots(
        {}, {"W": _Root("W", "D"), "Wf": _Root("W_f", "D")}, {"bf": _Root("b_f", "D")}
    ),
    Unit.TANH: _PLAIN,
    Unit.RELU: _PLAIN,
    Unit.SIGMOID: _PLAIN,
}
# Names, in DL4MT's session 1, of the matrices for a context that a cell reads besides its input.
_CONTEXT = {"W": ("Wc", "C"), "Wx": ("Wcx", "C"), "Wf": ("Wcf", "C"), "Wr": ("Wcr", "C")}
# Marian gives tanh cells gains of a GRU's width, and uses the first D.
_GAMMA_WIDTH = dict.fromkeys((*WITHOUT_STATE_PRODUCT, Unit.RELU, Unit.SIGMOID), "D")
_GAMMA_WIDTH[Unit.LSTM] = "4D"


ITSELF = ""  # instead of a matrix's path: the input itself, without a product


def input_arrays(cell: CellPlace) -> tuple[str, ...]:
    """Paths of the matrices of a cell's input; an SRU also reads the input itself."""
    paths = tuple(f"{cell.path}/{root}" for root in _ROOTS[cell.unit].input)
    return (*paths, ITSELF) if cell.unit is Unit.SRU else paths


def bias_arrays(cell: CellPlace) -> tuple[str, ...]:
    """Paths of a cell's biases."""
    return tuple(f"{cell.path}/{root}" for root in _ROOTS[cell.unit].bias)


def input_gains(cell: CellPlace) -> dict[str, str]:
    """Paths of a cell's input matrices and of Marian's gains for them.

    There is one gain for all columns or, without a product with the state, one per matrix.
    """
    separate = cell.unit in WITHOUT_STATE_PRODUCT
    return {
        f"{cell.path}/{root}": f"{cell.path}/{root.replace('W', 'gamma') if separate else 'gamma1'}"
        for root in _ROOTS[cell.unit].input
    }


def state_arrays(cell: CellPlace) -> tuple[str, ...]:
    """Paths of the matrices that multiply the state h, except the matrix that multiplies r * h."""
    roots = list(_ROOTS[cell.unit].recurrent)
    return tuple(f"{cell.path}/{r}" for r in roots[: 1 if cell.unit is Unit.GRU_BEFORE else None])


def state_gains(cell: CellPlace) -> dict[str, str]:
    """Paths of all state matrices of a cell, and of Marian's single gain for them."""
    return {f"{cell.path}/{root}": f"{cell.path}/gamma2" for root in _ROOTS[cell.unit].recurrent}


def context_arrays(cell: CellPlace) -> tuple[str, ...]:
    """Paths of the matrices for a context that a cell reads besides its input."""
    return tuple(f"{cell.path}/{_CONTEXT[root][0]}" for root in _ROOTS[cell.unit].input)


def cell_rows(s: Structure, cell: CellPlace) -> Iterator[Parameter]:
    """A cell's arrays: of its state, its input and its context (if any), biases, normalisation."""
    unit = _ROOTS[cell.unit]
    prime = "'" if s.type is Type.CGRU and cell[:4] == ("decoder", "", 1, 0) else ""
    rows: list[tuple[str, _Root, tuple[str, ...], str]] = []
    for root, kind in unit.recurrent.items():
        rows.append((root, kind, ("D", kind.width), "orthogonal"))
    if cell.input is not None:
        for root, kind in unit.input.items():
            rows.append((root, kind, (cell.input, kind.width), "normal"))
    if cell.context is not None:
        for root, kind in unit.input.items():
            own, letter = _CONTEXT[root]
            context = _Root(kind.symbol.replace("W", letter), kind.width)
            rows.append((own, context, (cell.context, kind.width), "normal"))
    matrices = list(rows)
    if cell.bias is not BiasPlace.NONE:
        rows += [(root, kind, (kind.width,), "zeros") for root, kind in unit.bias.items()]
    for root, kind, shape, initializer in rows:
        names = _cell_names(s, cell, root, "", kind.tf)
        symbol, path = f"{kind.symbol}{prime}", f"{cell.path}/{root}"
        yield Parameter(symbol, path, shape, initializer, names, cell=cell)
    for root, kind, *_ in matrices:
        norm_names = functools.partial(_cell_names, s, cell, root, tf=kind.tf_norm)
        symbol, path = f"{kind.symbol}{prime}", f"{cell.path}/{root}"
        yield from norm_rows(s, norm_names, symbol, path, kind.width, cell)
    if s.normalization is Normalization.MARIAN:
        width = _GAMMA_WIDTH.get(cell.unit, "3D")
        paths = [] if cell.input is None else list(dict.fromkeys(input_gains(cell).values()))
        for path in (*paths, f"{cell.path}/gamma2") if unit.recurrent else paths:
            names = _gamma_names(s, cell, path.rpartition("/")[2])
            yield Parameter("gamma", path, (width,), "ones", names, cell=cell)


def _cell_names(
    s: Structure, cell: CellPlace, root: str, suffix: str, tf: str
) -> dict[Dialect, str]:
    """The names of the array `root` of a cell in each dialect; suffix: of a norm's array.

    tf: its name inside the cell in Nematus-TF, "" if that program has no such array.
    """
    first_level = cell.level == 1
    level = "" if first_level else f"_{cell.level}"
    transition = cell.transition
    if cell.part == "encoder" or s.type is Type.LM:  # DL4MT's session 0 has encoder names
        prefix = "encoder" + ("_r" if cell.direction == "backward" else "") + level
        nematus = f"{prefix}_{root}" + (f"_drt_{transition}" if transition else "")
        stack = _stack(s, cell)
        scope = f"encoder/{stack}-stack/level{cell.level - 1}/gru{transition}"
        scope_01 = f"encoder/{stack}Encoder" if first_level and not transition else None
        tail_01 = ""
        nmtpy = nematus if first_level and not transition else None
    elif first_level and s.type is Type.CGRU:
        nl, drt = bool(transition), transition - 1
        behind = (_CONTEXT[root][0] if root in _CONTEXT else f"{root}_nl") if nl else root
        nematus = f"decoder_{behind}" + (f"_drt_{drt}" if drt > 0 else "")
        scope = f"decoder/base/gru{transition}"
        scope_01 = "decoder" if transition < 2 else None
        tail_01 = "_1" if transition else ""
        nmtpy = nematus if transition < 2 else None
    else:
        nematus = f"decoder{level}_{root}" + (f"_drt_{transition}" if transition else "")
        scope = f"decoder/high/level{cell.level - 2}/gru{transition}"
        scope_01, tail_01, nmtpy = None, "", None

    names = {Dialect.NEMATUS: nematus + suffix}
    s2s = f"{_s2s_cell(s, cell)}_{root}{suffix}"
    if cell.unit is not Unit.GRU or s.type is not Type.CGRU:
        if cell.context is None and not suffix:
            names[Dialect.S2S] = s2s
        return names
    names[Dialect.NEMATUS_TF] = f"{scope}/{tf}{tf_norm(suffix)}"
    if scope_01:
        names[Dialect.NEMATUS_TF_01] = f"{scope_01}/{tf}{tail_01}{tf_norm(suffix)}"
    if cell.bias is not BiasPlace.NONE:  # Marian's cells always have a bias
        names[Dialect.MARIAN_NEMATUS] = names[Dialect.NEMATUS] if first_level else s2s
        if not suffix:
            names[Dialect.S2S] = s2s
            if nmtpy:  # amun, like nmtpy, has only the plain cGRU
                names[Dialect.AMUN] = nematus
    if nmtpy and not suffix:
        names[Dialect.NMTPY] = nmtpy
    return names


def _gamma_names(s: Structure, cell: CellPlace, gamma: str) -> dict[Dialect, str]:
    """The names of Marian's gains; cgru's names extend amun's to cells that amun lacks."""
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
    transition = f"{nl}_drt_{drt}" if drt > 0 else ""
    own = f"{prefix}_{gamma}" if shallow else f"{prefix}{level}{transition}_{gamma}"
    names = {Dialect.NEMATUS: own, Dialect.S2S: f"{_s2s_cell(s, cell)}_{gamma}"}
    if shallow:
        names[Dialect.AMUN] = own
    return names


def _stack(s: Structure, cell: CellPlace) -> str:
    """The stack to which a cell of an alternating encoder belongs.

    Theano names cells by their reading direction; Nematus-TF and Marian by the stack, whose
    direction alternates from level to level.
    """
    other = {"forward": "backward", "backward": "forward"}
    odd = s.encoder is Encoder.ALTERNATING and cell.part == "encoder" and cell.level % 2 == 0
    return other[cell.direction] if odd else cell.direction


def _s2s_cell(s: Structure, cell: CellPlace) -> str:
    if cell.part == "encoder" and s.encoder is Encoder.BI_UNIDIRECTIONAL and cell.level > 1:
        return f"encoder_l{cell.level}_cell{cell.transition + 1}"
    if cell.part == "encoder":
        name = "encoder_bi" + ("_r" if _stack(s, cell) == "backward" else "")
        if cell.level > 1:
            name += f"_l{cell.level}"
        if cell.level > 1 or cell.transition:
            name += f"_cell{cell.transition + 1}"
        return name
    level = "" if cell.level == 1 else f"_l{cell.level}"
    return f"decoder{level}_cell{cell.transition + 1}"
