"""Model files of every dialect, read into and written from one form.

`read` recognises the dialect from the arrays, brings them to the DL4MT/Nematus names, learns the
`Structure` from them, and accounts for every array. `write` is the inverse. Which array is called
what is said in `names.py` alone.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import archive, legacy_pickle
from .errors import CgruError, warn
from .metadata import Own
from .names import INERT, MARIAN, Dialect, Parameter, is_training_array, parameters
from .settings import Settings, from_marian, from_nematus, parse_yaml, read_json
from .structure import Activation, Bias, Normalization, Structure

MARIAN_YAML = "special:model.yml"
HDF5_ATTRIBUTE = "cgru"


@dataclass
class Model:
    """A model as this package holds it, whatever it was read from.

    arrays: float32, C order, by DL4MT/Nematus name; inert: arrays that the computation is blind
    to; program: the program whose conventions hold (dl4mt, nematus, nematus-tf, marian-amun,
    marian-nematus, marian-s2s, nmtpy); container: the kind of file it came from; origin: what of
    Marian's own form is needed to write the same file again (plain values: dialect, yaml and its
    length in bytes, names of the arrays that were transposed).
    """

    path: Path
    structure: Structure
    arrays: dict[str, np.ndarray]
    program: str
    container: str = ""
    inert: dict[str, np.ndarray] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    origin: dict = field(default_factory=dict)

    def parameters(self) -> tuple[Parameter, ...]:
        """The table's rows for this model."""
        return parameters(self.structure)

    @property
    def parameter_count(self) -> int:
        """Numbers in all arrays that the computation uses."""
        return sum(array.size for array in self.arrays.values())


def read(path: str | Path) -> Model:
    """Read a model of any dialect.

    path may name an `.npz`, an `.h5`, or a TensorFlow checkpoint (`model-1500`, with or without
    `.index`). Raises CgruError, in one line, for what is no model, is damaged, or is a model
    that cannot be computed.
    """
    path = Path(path)
    checkpoint = checkpoint_prefix(path)
    if checkpoint:
        from .checkpoint import read_checkpoint

        stored = read_checkpoint(checkpoint, skip=is_training_array)
        return _interpret(checkpoint, stored, _nematus_settings(checkpoint), "checkpoint")
    archive.check_readable(path)
    with open(path, "rb") as stream:
        start = stream.read(8)
    if start == b"\x89HDF\r\n\x1a\n":
        return _read_hdf5(path)
    if not start.startswith(b"PK"):
        raise CgruError(f"{path}: not a model file (.npz, .h5 and TensorFlow checkpoints are read)")
    stored = archive.read_npz(path, skip=is_training_array)
    settings = _nematus_settings(path)
    origin = {}
    if MARIAN_YAML in stored:
        whole = stored.pop(MARIAN_YAML)
        content = whole.tobytes().split(b"\0")[0]
        origin = _marian_origin(whole, content)
        embedded = from_marian(parse_yaml(content, f"{path}: {MARIAN_YAML}"), MARIAN_YAML)
        embedded.values = {MARIAN_YAML: content.decode("utf-8", "replace")}
        embedded.update(settings)
        settings = embedded
    return _interpret(path, stored, settings, "npz", origin)


def _marian_origin(whole: np.ndarray, content: bytes) -> dict:
    """Marian's own configuration and its length, where it has the form that Marian reads."""
    raw = whole.tobytes()
    if whole.dtype != np.int8 or whole.ndim != 1 or raw != content.ljust(len(raw), b"\0"):
        return {}
    try:
        return {"yaml": content.decode("utf-8"), "bytes": len(raw)} if raw != content else {}
    except UnicodeDecodeError:
        return {}


def checkpoint_prefix(path: Path) -> Path | None:
    """`model-N` of a TensorFlow checkpoint triple, if that is what the path names."""
    for suffix in (".index", ".meta", ".data-00000-of-00001"):
        if path.name.endswith(suffix):
            path = path.with_name(path.name.removesuffix(suffix))
            break
    else:
        if path.is_file():
            return None
    return path if path.with_name(path.name + ".index").is_file() else None


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _nematus_settings(path: Path) -> Settings:
    """What the files beside a model say of it."""
    settings = Settings()
    for suffix in (".json", ".pkl"):
        file = _beside(path, suffix)
        if not file.is_file():
            continue
        if suffix == ".json":
            settings = from_nematus(read_json(file), str(file))
        else:
            settings = from_nematus(legacy_pickle.load(file, "model options"), str(file))
            settings.program = "dl4mt"
        break
    for suffix in (".decoder.yml", ".amun.yml", ".yml"):
        file = _beside(path, suffix)
        if file.is_file():
            content = from_marian(parse_yaml(file.read_bytes(), str(file)), str(file))
            if suffix == ".yml":  # the training's: its beam is that of validation
                content.beam_size = content.normalize = content.word_penalty = None
            settings.update(content)
    return settings


def _interpret(
    path: Path,
    stored: dict[str, np.ndarray],
    settings: Settings,
    container: str,
    origin: dict | None = None,
) -> Model:
    """Make a Model of arrays as a legacy file names them."""
    stored = {name: a for name, a in stored.items() if not is_training_array(name)}
    own = Own.of(settings.values.get("cgru"), settings.source)
    refuse_uncomputable(path, stored, settings)
    dialect = recognise(path, stored, settings)
    if own and container == "npz":
        dialect = Dialect.NEMATUS  # cgru's own .npz, which may hold arrays that Nematus has not
    stored = _smoothed(stored, settings, dialect)
    inert = {}
    if INERT.get(dialect) in stored:
        inert[INERT[Dialect.NEMATUS]] = stored.pop(INERT[dialect])

    marian = dialect in MARIAN
    declared = settings.structure
    layout = {
        "alternating": declared.get("alternating", not marian),
        "residual": declared.get("residual", not marian),
        "shared_embeddings": "Wemb" in stored and dialect in (Dialect.S2S, Dialect.NMTPY),
    }
    candidates = _candidates(stored, layout)
    by_name = {p.names[dialect]: p for p in candidates if dialect in p.names}
    transposed = {p.transposed[dialect]: p for p in candidates if dialect in p.transposed}
    arrays: dict[str, np.ndarray] = {}
    found: dict[str, Parameter] = {}
    unknown, turned = [], []
    for name, array in stored.items():
        parameter = by_name.get(name) or transposed.get(name)
        if parameter is None:
            unknown.append(name)
            continue
        if parameter.name in arrays:
            raise CgruError(f"{path}: arrays {parameter.name} and {name} are the same one")
        if name in transposed and name not in by_name:
            array = array.T
        if len(parameter.shape) == 1 and array.ndim == 2 and array.shape[0] == 1:
            array = array[0]  # Marian's rows
        arrays[parameter.name] = array
        found[parameter.name] = parameter
        if name in transposed and name not in by_name:
            turned.append(parameter.name)
    if unknown:
        raise CgruError(
            f"{path}: {_listed('array', unknown)} unknown to {_dialect_text(dialect)}; "
            "refusing to compute a model without knowing all of it"
        )
    if own:
        structure, inert, origin = own.structure, inert | own.inert, own.origin
        own.complete(settings)
    else:
        structure = _structure(path, arrays, found, settings, layout, dialect)
        if marian:
            origin = {"dialect": dialect.value, "transposed": turned} | (origin or {})
    if dialect is Dialect.NMTPY and structure.tied_output:
        _add_missing_bias(arrays, found, structure)
    model = Model(
        path=path,
        structure=structure,
        arrays=_checked(path, arrays, structure, dialect),
        program=own.program if own else _program(dialect, settings),
        container=container,
        inert=inert,
        settings=settings,
        origin=origin or {},
    )
    for name, array in model.arrays.items():
        model.arrays[name] = convention(found[name], dialect, structure, array)
    if not own:
        _compare(structure, settings)
    return model


def _add_missing_bias(arrays: dict, found: dict, structure: Structure) -> None:
    """nmtpy's tied output layer has no bias: one of zeros computes the same."""
    for parameter in parameters(structure):
        if parameter.name not in arrays and Dialect.NMTPY not in parameter.names:
            arrays[parameter.name] = np.zeros(parameter.size(structure), dtype=np.float32)
            found[parameter.name] = parameter


def _program(dialect: Dialect, settings: Settings) -> str:
    if dialect is Dialect.NEMATUS:
        return settings.program if settings.program in ("dl4mt", "nematus") else "nematus"
    if dialect is Dialect.NEMATUS_TF_01:
        return Dialect.NEMATUS_TF.value
    return dialect.value


def recognise(path: Path, stored: Mapping[str, np.ndarray], settings: Settings) -> Dialect:
    """The dialect that the arrays are written in.

    Raises CgruError where they are those of no model this package knows.
    """
    names = set(stored)
    if any(name.startswith(("encoder/", "decoder/")) for name in names):
        old = any("forwardEncoder" in name for name in names)
        return Dialect.NEMATUS_TF_01 if old else Dialect.NEMATUS_TF
    if {"decoder_cell1_U", "encoder_bi_U"} & names:
        return Dialect.S2S
    if {"ff_logit_gru_W", "Wemb_enc", "decoder_c_att"} & names:
        return Dialect.NMTPY
    if not {"decoder_U_nl", "decoder_Wc", "encoder_U", "ff_logit_b"} & names:
        example = ", ".join(sorted(names)[:3]) or "nothing"
        raise CgruError(f"{path}: holds no model that cgru knows (found {example})")
    if settings.marian_type in ("amun", "nematus"):
        return Dialect(f"marian-{settings.marian_type}")
    rows = [a for name, a in stored.items() if name.endswith("_b") and a.ndim == 2]
    gains = any(re.search(r"_gamma\d?$", name) for name in names)
    if rows or gains or any(name.startswith("encoder_bi_") for name in names):
        normed = any(name.endswith("_lns") for name in names)
        return Dialect.MARIAN_NEMATUS if normed else Dialect.AMUN
    return Dialect.NEMATUS


# What is recognised and cannot be computed: a test on the names, and what to say.
_UNCOMPUTABLE = (
    (lambda n: any("self_W" in x or "self_attention" in x or "/layer_" in x for x in n),
     "a transformer; cgru computes recurrent models only"),
    (lambda n: "encoder_U" in n and not any(x.startswith("decoder") for x in n),
     "a DL4MT session 0 language model; it is recognised but not computed by this version"),
    (lambda n: "decoder_Wc" in n and "decoder_W_comb_att" not in n,
     "a DL4MT session 1 encoder-decoder without attention; "
     "it is recognised but not computed by this version"),
    (lambda n: any(x.startswith(("lm_", "fusion_lm_", "ff_logit_lm")) for x in n),
     "a Nematus model fused with a language model; "
     "translate with the program that trained it, or drop the fusion and retrain"),
    (lambda n: any(re.match(r"decoder_\d+_(W_comb_att|Wc_att)$", x) for x in n),
     "a Nematus model with attention in its high decoder levels (decoder_deep gru_cond); "
     "it is recognised but not computed"),
    (lambda n: any(re.match(r"decoder_att\d+_", x) for x in n),
     "a Marian multi-source model; only one source is computed"),
    (lambda n: any(re.match(r"encoder_l\d+_cell\d+_", x) for x in n),
     "a Marian s2s model with a bi-unidirectional encoder; "
     "it is recognised but not computed by this version"),
    (lambda n: "decoder_cell1_U" in n and "decoder_cell1_Ux" not in n,
     "a Marian s2s model with LSTM or tanh cells; "
     "it is recognised but not computed by this version"),
    (lambda n: any(x.startswith(("deep_encoder_", "deepencoder_")) for x in n),
     "an nmtpy model with stacked encoders; it is recognised but not computed"),
    (lambda n: "ff_logit_gru_W" in n and ("encoder_b1" in n or "encoder_s1" in n),
     "an nmtpy model with a layer-normalised encoder; it is recognised but not computed"),
    (lambda n: "ff_logit_gru_W" in n and not {"ff_logit_ctx_W", "ff_state_W"} <= n,
     "an nmtpy model with simple_output or without ff_state; it is recognised but not computed"),
)  # fmt: skip


def refuse_uncomputable(path: Path, stored: Mapping, settings: Settings) -> None:
    """Name what the file holds, where it is a model this package cannot compute.

    Raises CgruError.
    """
    names = set(stored)
    for test, kind in _UNCOMPUTABLE:
        if test(names):
            raise CgruError(f"{path}: {kind}")
    u, ux = stored.get("decoder_U"), stored.get("decoder_Ux")
    two = u is not None and ux is not None and u.ndim == ux.ndim == 2
    if two and u.shape[1] == 3 * ux.shape[1]:
        raise CgruError(f"{path}: a Nematus LSTM; only GRU cells are computed by this version")
    if settings.unsupported:
        raise CgruError(f"{path}: {settings.unsupported[0]} (says {settings.source}); not computed")


def _smoothed(stored: dict, settings: Settings, dialect: Dialect) -> dict:
    """Nematus-TF's translate swaps in the exponentially smoothed weights where there are any."""
    if dialect not in (Dialect.NEMATUS_TF, Dialect.NEMATUS_TF_01):
        return stored
    smooth = {n.removesuffix("_smooth"): a for n, a in stored.items() if n.endswith("_smooth")}
    raw = {name: array for name, array in stored.items() if not name.endswith("_smooth")}
    return raw | smooth if settings.values.get("exponential_smoothing") else raw


def _candidates(stored: Iterable[str], layout: dict) -> list[Parameter]:
    """Every row of the table that a file with these names could mean."""
    numbers = [int(n) for name in stored for n in re.findall(r"(?<![a-z])\d{1,2}(?!\d)", name)]
    numbers += [
        int(n)
        for name in stored
        for n in re.findall(r"(?:cell|l|level|gru|Wemb|_)(\d{1,2})(?!\d)", name)
    ]
    return list(_rows_up_to(min(max(numbers, default=0) + 2, 24), **layout))


@functools.cache
def _rows_up_to(depth: int, **layout: bool) -> tuple[Parameter, ...]:
    rows: dict[str, Parameter] = {}
    for normalization, tied in itertools.product(Normalization, (False, True)):
        structure = Structure(
            source_vocabularies=(1,) * depth,
            source_embeddings=(1,) * depth,
            target_vocabulary=1,
            target_embedding=1,
            state=1,
            encoder_depth=depth,
            encoder_transition=depth,
            decoder_depth=depth,
            decoder_base_transition=depth,
            decoder_high_transition=depth,
            normalization=normalization,
            weight_normalization=True,
            tied_output=tied,
            readout_activation=Activation.PRELU,
            mixture=depth,
            lexical=True,
            **layout,
        )
        for parameter in parameters(structure):
            rows.setdefault(f"{parameter.name} {sorted(parameter.names.items())}", parameter)
    return tuple(rows.values())


def _structure(
    path: Path,
    arrays: Mapping[str, np.ndarray],
    found: Mapping[str, Parameter],
    settings: Settings,
    layout: dict,
    dialect: Dialect,
) -> Structure:
    """What the arrays tell, and the configuration where they cannot."""
    letters: dict[str, int] = {}
    for name, parameter in found.items():
        for letter, size in zip(parameter.shape, arrays[name].shape, strict=False):
            letters.setdefault(letter, size)
    features = {parameter.feature for parameter in found.values()}
    cells = [parameter.cell for parameter in found.values() if parameter.cell]
    encoder = [cell for cell in cells if cell.part == "encoder"]
    base = [cell for cell in cells if cell.part == "decoder" and cell.level == 1]
    high = [cell for cell in cells if cell.part == "decoder" and cell.level > 1]
    factors = sum(1 for letter in letters if letter.startswith("Vs"))
    declared = settings.structure

    for letter, array in (("D", "the state"), ("Vs0", "Wemb"), ("E", "ff_logit_prev_W")):
        if letter not in letters:
            raise CgruError(f"{path}: the arrays that would tell the size of {array} are missing")
    state = letters["D"]
    deep_context = any(
        p.cell and p.cell.level > 1 and p.cell.part == "decoder"
        and p.shape[0] in ("D+C", "D") and len(p.shape) == 2
        and p.path.endswith(("/W", "/Wx")) and arrays[n].shape[0] == 3 * state
        for n, p in found.items()
    )  # fmt: skip
    if "gamma" in features:
        normalization = Normalization.MARIAN
    elif "gain-bias" in features:
        normalization = Normalization.NEMATUS
    else:
        normalization = Normalization.RMS if "gain" in features else Normalization.NONE
    mixture = letters.get("M", 1)
    shared = "target-embedding" not in features
    structure = Structure(
        source_vocabularies=tuple(letters.get(f"Vs{i}", 0) for i in range(factors)),
        source_embeddings=tuple(letters.get(f"Es{i}", 0) for i in range(factors)),
        target_vocabulary=letters.get("V", letters["Vs0"]),
        target_embedding=letters["E"],
        state=state,
        encoder_depth=max((cell.level for cell in encoder), default=1),
        encoder_transition=max((cell.transition + 1 for cell in encoder), default=1),
        decoder_depth=max((cell.level for cell in high), default=1),
        decoder_base_transition=max((cell.transition + 1 for cell in base), default=2),
        decoder_high_transition=max((cell.transition + 1 for cell in high), default=1),
        deep_context=deep_context,
        alternating=layout["alternating"],
        residual=layout["residual"],
        normalization=normalization,
        weight_normalization="weight-norm" in features,
        tied_output="output" not in features,
        shared_embeddings=shared,
        mixture=mixture,
        lexical="lexical" in features,
        readout_activation=Activation.PRELU
        if "prelu" in features
        else declared.get("readout_activation", Activation.TANH),
        old_dropout=declared.get("old_dropout"),
    )
    if structure.encoder_depth == 1 and structure.decoder_depth == 1:
        structure = dataclasses.replace(structure, residual=True)
    if structure.encoder_depth == 1:
        structure = dataclasses.replace(structure, alternating=True)
    return dataclasses.replace(structure, bias=_bias(path, structure, found, settings, dialect))


def _bias(
    path: Path,
    structure: Structure,
    found: Mapping[str, Parameter],
    settings: Settings,
    dialect: Dialect,
) -> Bias:
    """Theano's convention or Nematus-TF's own: the arrays tell where an encoder has transitions."""
    tf = dialect in (Dialect.NEMATUS_TF, Dialect.NEMATUS_TF_01)
    default = Bias.NEMATUS_TF if tf and settings.program != "nematus" else Bias.THEANO
    declared = settings.structure.get("bias", default)
    deep = structure.encoder_transition > 1 or structure.decoder_depth > 1
    if dialect in MARIAN or not deep:
        return Bias.THEANO
    if structure.encoder_transition > 1:
        has_bias = any(
            p.feature == "transition-bias" and p.cell.part == "encoder" for p in found.values()
        )
        if not has_bias and declared is Bias.THEANO:
            raise CgruError(
                f"{path}: a deep Nematus-TF model that Nematus' own converter wrote without its "
                "bias convention; convert the checkpoint (model-N.index) instead, or lay the "
                "Nematus-TF .json beside this file"
            )
        if has_bias:
            return Bias.THEANO
        return Bias.NEMATUS_TF
    return declared


def _checked(
    path: Path, arrays: Mapping[str, np.ndarray], structure: Structure, dialect: Dialect
) -> dict[str, np.ndarray]:
    """All parameters in the table's order, float32, each of the right shape and finite."""
    rows = parameters(structure)
    missing = [p for p in rows if p.name not in arrays]
    if missing:
        wanted = ", ".join(
            f"{p.names.get(dialect, p.name)} {p.size(structure)}" for p in missing[:4]
        )
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        raise CgruError(f"{path}: missing {_count('array', len(missing))}: expected {wanted}{more}")
    extra = sorted(set(arrays) - {p.name for p in rows})
    if extra:
        raise CgruError(f"{path}: {_listed('array', extra)} not part of the model found here")
    checked = {}
    converted = set()
    for parameter in rows:
        name = parameter.names.get(dialect, parameter.name)
        array = arrays[parameter.name]
        expected = parameter.size(structure)
        if array.shape != expected:
            raise CgruError(f"{path}: {name}: expected {expected}, found {array.shape}")
        if not np.issubdtype(array.dtype, np.floating):
            raise CgruError(f"{path}: {name}: expected float32, found {array.dtype}")
        if array.dtype != np.dtype("<f4"):
            if array.dtype.itemsize != 4:
                converted.add(str(array.dtype))
            with np.errstate(over="ignore"):
                array = array.astype("<f4")
        array = np.ascontiguousarray(array)
        # a sum is finite unless a part is not (or it overflows): a quick test before the full one
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(array.sum())
        if suspicious and not np.isfinite(array).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise CgruError(f"{path}: {name}: not finite at {place} ({array[place]})")
        checked[parameter.name] = array
    if converted:
        warn(f"{path}: {', '.join(sorted(converted))} arrays are rounded to float32")
    return checked


def convention(
    parameter: Parameter, dialect: Dialect, structure: Structure, array: np.ndarray
) -> np.ndarray:
    """Between a dialect's convention and ours; every case is its own inverse and exact.

    nmtpy's update gate weighs the proposal, not the previous state: sigma(-x) = 1 - sigma(x).
    Marian concatenates an alternating encoder's stacks, not its directions: at even depth the
    halves of every product with a context are swapped.
    """
    if dialect is Dialect.NMTPY and parameter.cell and parameter.shape[-1] == "2D":
        array = array.copy()
        array[..., array.shape[-1] // 2 :] *= -1
    swapped = structure.alternating and structure.encoder_depth % 2 == 0
    if dialect is Dialect.S2S and swapped and parameter.shape[0] == "C":
        array = np.concatenate(np.split(array, 2)[::-1])
    return array


def _compare(structure: Structure, settings: Settings) -> None:
    """Warn where the configuration says otherwise than the arrays; the arrays are believed."""
    own = structure.as_dict() | {"normalized": structure.normalization is not Normalization.NONE}
    for name, value in settings.structure.items():
        told = own.get(name)
        if name == "source_vocabularies":
            value, told = value[:1], structure.source_vocabularies[:1]
        if name in ("target_vocabulary",) and value == -1:
            continue
        if name in ("bias", "old_dropout", "alternating", "residual", "readout_activation"):
            continue  # told by the configuration, not by arrays
        if value != told:
            warn(
                f"{settings.source} says {name.replace('_', ' ')} {_plain(value)}, "
                f"the arrays say {_plain(told)}: the arrays are right"
            )


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _count(noun: str, count: int) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _listed(noun: str, names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:4])
    if len(names) == 1:
        return f"{noun} {shown} is"
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"{noun}s {shown}{more} are"


def _dialect_text(dialect: Dialect) -> str:
    return {
        Dialect.NEMATUS: "Nematus and DL4MT",
        Dialect.NEMATUS_TF: "Nematus-TF",
        Dialect.NEMATUS_TF_01: "Nematus-TF 0.1",
        Dialect.AMUN: "Marian's type amun",
        Dialect.MARIAN_NEMATUS: "Marian's type nematus",
        Dialect.S2S: "Marian's type s2s",
        Dialect.NMTPY: "nmtpy",
    }[dialect]


def _read_hdf5(path: Path) -> Model:
    stored, attributes = archive.read_hdf5(path)
    source = f"{path}: attribute {HDF5_ATTRIBUTE}"
    try:
        values = json.loads(attributes[HDF5_ATTRIBUTE])
        configuration = values["configuration"]
    except KeyError:
        raise CgruError(
            f"{path}: an HDF5 file, but not one of cgru's (no attribute {HDF5_ATTRIBUTE!r})"
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise CgruError(f"{source}: {error}") from None
    own = Own.of(values, source)
    settings = from_nematus(configuration, source)
    own.complete(settings)
    names = {p.path: p.name for p in parameters(own.structure)}
    arrays, inert, unknown = {}, {}, []
    for name, array in stored.items():
        if name in names:
            arrays[names[name]] = array
        elif name.startswith("inert/"):
            inert[name.removeprefix("inert/")] = array
        else:
            unknown.append(name)
    if unknown:
        raise CgruError(f"{path}: {_listed('array', unknown)} unknown")
    arrays = _checked(path, arrays, own.structure, Dialect.NEMATUS)
    return Model(path, own.structure, arrays, own.program, "h5", inert, settings, origin=own.origin)
