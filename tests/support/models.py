"""Models for tests: random models of any structure, and the reference cases with their texts."""

from __future__ import annotations

import contextlib
import functools
import importlib
import types
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from cases import tiny
from deep_equations import DeepModel
from forced import force_decode
from hypothesis import strategies as st
from oracles.labels import LabelModel
from shared_files import text_lines

from cgru_cli.formats import model_vocabularies, read_model
from cgru_cli.network import ops
from cgru_cli.network.engines import tensorflow as tensorflow_engine
from cgru_cli.network.network import Network
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.parameter import Dialect
from cgru_cli.parameters.structure import (
    WITHOUT_STATE_PRODUCT,
    Activation,
    Bias,
    Dropout,
    Encoder,
    Normalization,
    Structure,
    Type,
    Unit,
)

EOS = 0
LEGACY_ACTIVATIONS = [a for a in Activation if a is not Activation.MAXOUT]
# The modules of TensorFlow that name float32 and that `double_precision` runs in float64.
COMPUTING = (
    "network.engines.scan", "optimization.gradient_norms", "optimization.objective",
    "optimization.word_costs", "optimization.words",
)  # fmt: skip


def log_probabilities(forced, target, mask):
    """log p(y_j | y_<j, x) of each target word, 0 at padding: (B,T) in nats, by TensorFlow."""
    return -tf.nn.sparse_softmax_cross_entropy_with_logits(target, forced.logits) * mask


@st.composite
def structures(draw) -> Structure:
    """Structures that cover every compatible pair of features."""
    normalization = draw(st.sampled_from(Normalization))
    marian = normalization is Normalization.MARIAN
    mixture = 1 if marian else draw(st.sampled_from((1, 1, 1, 2, 3)))
    lexical = not marian and draw(st.booleans())
    factors = draw(st.integers(1, 3))
    embeddings = [draw(st.integers(2, 5)) for _ in range(factors)]
    rows = [draw(st.integers(3, 9)) for _ in range(factors)]
    target, width = draw(st.integers(3, 9)), draw(st.integers(3, 6))
    shared = draw(st.booleans())
    if shared:
        rows[0], embeddings[0] = target, width
    probability = st.sampled_from((0.0, 0.1, 0.2, 0.5))
    old = None
    if mixture == 1 and not lexical and not marian and draw(st.booleans()):
        old = Dropout(*(draw(probability) for _ in Dropout._fields))
    depth = st.sampled_from((1, 1, 2, 3))
    return Structure(
        source_vocabularies=tuple(rows),
        source_embeddings=tuple(embeddings),
        target_vocabulary=target,
        target_embedding=width,
        state=draw(st.integers(3, 6)),
        encoder_depth=draw(depth),
        encoder_transition=draw(depth),
        decoder_depth=draw(depth),
        decoder_base_transition=draw(st.integers(2, 4)),
        decoder_high_transition=draw(depth),
        deep_context=draw(st.booleans()),
        encoder=draw(st.sampled_from((Encoder.ALTERNATING, Encoder.BIDIRECTIONAL))),
        residual=draw(st.booleans()),
        bias=Bias.THEANO if marian else draw(st.sampled_from(Bias)),
        normalization=normalization,
        weight_normalization=not marian and draw(st.booleans()),
        tied_output=draw(st.booleans()),
        shared_embeddings=shared,
        readout_activation=draw(st.sampled_from(LEGACY_ACTIVATIONS)),
        mixture=mixture,
        lexical=lexical,
        old_dropout=old,
    )


class _Double(types.SimpleNamespace):
    """TensorFlow, or its engine, with float64 instead of float32."""

    float32 = tf.float64

    def __init__(self, module):
        self.__dict__["module"] = module

    def __getattr__(self, name):
        found = getattr(self.module, name)
        if self.module is tf or not callable(found):
            return found

        def in_double(*given, **more):
            given = ["float64" if isinstance(x, str) and x == "float32" else x for x in given]
            return found(*given, **more)

        return in_double

    def convert(self, x, dtype=None):
        return tf.cast(x, tf.float64) if dtype == "float32" else tf.convert_to_tensor(x)

    def zeros(self, shape):
        return tf.zeros(shape, tf.float64)


@contextlib.contextmanager
def double_precision():
    """Build and run networks in float64, so that rounding does not hide errors."""
    with pytest.MonkeyPatch.context() as patch, ops.using(_Double(tensorflow_engine)):
        for module in COMPUTING:
            patch.setattr(importlib.import_module(f"cgru_cli.{module}"), "tf", _Double(tf))
        yield


def reference(structure: Structure, arrays: dict[str, np.ndarray]) -> DeepModel:
    """The equations of the same model in NumPy and float64; not for models that give labels."""
    s, arrays = structure, dict(arrays)
    drop = s.old_dropout
    if drop is not None and drop.readout != drop.hidden:
        # The equations use the same dropout before the output layer as elsewhere.
        table = arrays["Wemb" if s.shared_embeddings else "Wemb_dec"]
        W = table.T if s.tied_output else arrays["ff_logit_W"]
        arrays["ff_logit_W"] = W.astype(np.float64) * (1 - drop.readout) / (1 - drop.hidden)
    names = """type encoder_unit decoder_unit encoder encoder_depth encoder_transition decoder_depth
        decoder_base_transition decoder_high_transition deep_context residual normalization
        weight_normalization readout_activation mixture lexical decoder_start feedback condition"""
    return DeepModel(
        arrays,
        bias="nematus_tf" if s.bias is Bias.NEMATUS_TF else "theano",
        old_dropout={} if drop is None else drop._asdict(),
        **{name: getattr(s, name) for name in names.split()},
    )


def pad_source(
    sentences: Sequence[Sequence[tuple[int, ...]]], filler: int = EOS, longer: int = 0
) -> tuple[tf.Tensor, tf.Tensor]:
    """Ids (B,S,F) and mask (B,S) of sentences without EOS, which is appended."""
    length = max(map(len, sentences)) + 1 + longer
    factors = max((len(word) for words in sentences for word in words), default=1)
    ids = np.full((len(sentences), length, factors), filler, np.int32)
    mask = np.zeros((len(sentences), length), np.float32)
    for row, words in enumerate(sentences):
        if words:
            ids[row, : len(words)] = words
        ids[row, len(words)] = EOS
        mask[row, : len(words) + 1] = 1
    return tf.constant(ids), tf.constant(mask)


def pad_target(
    sentences: Sequence[Sequence[int]], filler: int = EOS, longer: int = 0
) -> tuple[tf.Tensor, tf.Tensor]:
    """Ids (B,T) and mask (B,T) of sentences without EOS, which is appended."""
    ids, mask = pad_source([[(i,) for i in words] for words in sentences], filler, longer)
    return ids[..., 0], mask


def forced_scores(network: Network, sources, targets) -> np.ndarray:
    """log p(y | x) of each pair including EOS: (B,), nats."""
    ids, mask = pad_target(targets)
    decoded = force_decode(network, *pad_source(sources), ids)
    return log_probabilities(decoded, ids, mask).numpy().sum(axis=1)


class Case:
    """A reference model and how it reads text."""

    def __init__(self, path: Path, vocabularies: Sequence[Path] = ()):
        self.model = read_model.read(path)
        given = [str(path) for path in vocabularies]
        *self.sources, self.target = model_vocabularies.find(self.model, given)
        self.network = Network(self.model.structure, self.model.arrays)

    def source_ids(self, path: Path) -> list[list[tuple[int, ...]]]:
        """The word ids of each line, one per factor, without EOS."""
        lines = []
        for line in text_lines(path):
            factored = [word.rsplit("|", len(self.sources) - 1) for word in line.split(" ")]
            columns = zip(*factored, strict=True)
            ids = [v.encode(column) for v, column in zip(self.sources, columns, strict=True)]
            lines.append(list(zip(*ids, strict=True)))
        return lines

    def target_ids(self, path: Path) -> list[list[int]]:
        """The word ids of each line, without EOS."""
        return [self.target.encode(line.split(" ")) for line in text_lines(path)]


@functools.lru_cache(maxsize=8)
def case(path: Path, vocabularies: tuple[Path, ...] = ()) -> Case:
    """A `Case`, cached for later tests."""
    return Case(path, vocabularies)


def random_pairs(structure, seed, lengths):
    generator = np.random.default_rng(seed)
    sources = [
        [tuple(int(generator.integers(v)) for v in structure.source_vocabularies) for _ in range(n)]
        for n, _ in lengths
    ]
    targets = [generator.integers(structure.target_vocabulary, size=n).tolist() for _, n in lengths]
    return sources, targets


# Units of cells that need no input: transition cells, decoders without feedback.
WITH_STATE_PRODUCT = [unit for unit in Unit if unit not in WITHOUT_STATE_PRODUCT]


def typed(kind: Type, **changes):
    """A small structure of this type, without the features that the type cannot have."""
    fixed = {"type": kind, "decoder_base_transition": 2 if kind is Type.CGRU else 1}
    if not kind.writes_text:
        changes.pop("tied_output", None)
    if kind is Type.LM:
        fixed |= {"source_vocabularies": (), "source_embeddings": ()}
    return tiny(**fixed | changes)


def simple_units(kind, unit, norm=Normalization.NONE, **changes):
    """A structure of SRU or SSRU cells."""
    one_way = kind is Type.SEQ2SEQ
    fixed = {"encoder": Encoder.REVERSED if one_way else Encoder.ALTERNATING}
    fixed |= {"encoder_unit": unit, "decoder_unit": unit, "normalization": norm}
    if unit is Unit.SRU:
        fixed |= {"target_embedding": 4, "decoder_base_transition": 1}
    return typed(kind, **fixed | changes)


def ladder_oracle(s, arrays):
    """The equations of a model of any type, in float64."""
    if not s.type.writes_text:
        return LabelModel(
            arrays,
            type=s.type.value,
            pooling=s.pooling.value,
            crf=s.crf,
            encoder=s.encoder.value,
            unit=s.encoder_unit.value,
            encoder_depth=s.encoder_depth,
            encoder_transition=s.encoder_transition,
            residual=s.residual,
            normalization=s.normalization.value,
        )
    return reference(s, arrays)


def nmtpy(structure, arrays):
    """A model under the names of nmtpy, whose update gate weighs the proposal."""
    renamed = {}
    for p in parameters(structure):
        if Dialect.NMTPY not in p.names:
            continue
        array = arrays[p.name].copy()
        if p.cell and p.shape[-1] == "2D":
            array[..., structure.state :] *= -1
        renamed[p.names[Dialect.NMTPY]] = array
    return renamed | {"decoder_c_att": np.zeros(1, "f4")}
