"""Models computed by both engines, each compared with the same equations in NumPy.

TensorFlow computes in float64, so that rounding hides no error; ONNX Runtime has only float32.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from cases import random_arrays
from forced import force_decode
from models import double_precision, ladder_oracle, pad_source, pad_target
from tolerances import LOG_PROBABILITY, WEIGHTS

from cgru_cli.network.network import Network
from cgru_cli.parameters.structure import Condition, Type
from cgru_cli.search.decoder_states import StepRows, WordsToScore
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.search.runtime import PreparedModel, Settings
from cgru_cli.search.scoring import Scorer

SOURCES = [[3, 1, 4, 1, 5], [], [2, 6]]
TARGETS = [[2, 3], [5, 1, 4, 2], []]
LABELS_BEFORE, VECTORS = [2, 0, 1], [[0.5, -1.25, 2.0], [0.0, 0.0, 0.0], [-3.0, 0.1, 1e-3]]
# one label per source word, or one in all
LABELS = {Type.CLASSIFIER: [[2], [5], [3]], Type.TAGGER: [[2, 5, 3, 4, 2], [], [4, 3]]}
DOUBLE = 1e-10
ONE_THREAD = Settings("cpu", 1)


class Texts(NamedTuple):
    """Sentence pairs without EOS."""

    sources: list  # words (a tuple of factors each), labels, vectors, or None
    targets: list[list[int]]

    @classmethod
    def of(cls, s):
        """Some that a model of this structure reads."""
        if s.condition is not Condition.NONE:
            sources = LABELS_BEFORE if s.condition is Condition.LABEL else VECTORS
        elif s.type.reads_source:
            sizes = list(enumerate(s.source_vocabularies))
            sources = [
                [tuple((word + factor) % size for factor, size in sizes) for word in words]
                for words in SOURCES
            ]
        else:
            sources = [None] * len(SOURCES)
        targets = [[word % s.target_vocabulary for word in words] for words in TARGETS]
        return cls(sources, LABELS.get(s.type, targets))

    def batch(self, s, filler=1):
        """Source (B,S,F), its mask, target (B,T), its mask; filler: the words at padding."""
        words = [source or [] for source in self.sources]
        if s.condition is Condition.LABEL:
            words = [[(2 + label,)] for label in self.sources]
        elif s.condition is Condition.VECTOR:
            bits = np.array(self.sources, np.float32).view(np.int32)
            words = [[tuple(row)] for row in bits]
        source, mask = (x.numpy() for x in pad_source(words, filler, longer=1))
        if not s.has_source:
            source = source[..., :0]
        if s.type is Type.TAGGER:  # the column that says where words begin
            starts = mask * (np.cumsum(mask[:, ::-1], axis=1)[:, ::-1] > 1)
            source = np.concatenate([source, starts[..., None].astype(np.int32)], axis=-1)
        target, target_mask = (x.numpy() for x in pad_target(self.targets, filler, longer=1))
        return source, mask, target, target_mask


class Rows(NamedTuple):
    """The rows of a search with two hypotheses for each sentence."""

    sentence: np.ndarray  # (R,) int32
    slot: np.ndarray  # (R,) int32

    @classmethod
    def of(cls, batch):
        places = np.arange(2 * len(batch), dtype=np.int32)
        return cls(places // 2, places % 2)

    def words_before(self, target):
        """For each step, the previous word of each row, (R,) int32."""
        shifted = np.pad(target[:, :-1], [[0, 0], [1, 0]], constant_values=-1)
        return shifted[self.sentence].T


def by_tensorflow(s, arrays, source, mask, target):
    """In float64: log-probabilities (B,T,V), alignment, and log-probabilities in steps (R,T,V)."""
    rows, steps = Rows.of(source), []
    with double_precision():
        source, mask = tf.constant(source), tf.constant(mask, tf.float64)
        doubled = {name: array.astype(np.float64) for name, array in arrays.items()}
        forced = force_decode(Network(s, doubled, "float64"), source, mask, target)
        network = Network(s, doubled, "float64", packed=True)
        memory = network.encode(source, mask, search=True)
        state = network.start(memory)._replace(**rows._asdict())
        cells = tf.nest.map_structure(lambda x: tf.gather(x, rows.sentence), state.cells)
        state = state._replace(cells=cells)
        for previous in rows.words_before(target):
            logits, state, _ = network.step(state, tf.constant(previous), memory)
            steps.append(tf.nn.log_softmax(logits))
    types = {tf.as_dtype(x.dtype) for x in tf.nest.flatten((forced, memory, state.cells, logits))}
    assert {one for one in types if one.is_floating} == {tf.float64}
    return tf.nn.log_softmax(forced.logits).numpy(), forced.alignment, np.stack(steps, axis=1)


def by_onnx(s, arrays, source, mask, target, target_mask):
    """Scores, log-probabilities in steps (R,T,V), and the alignments of these (R,T,S) or None."""
    model = PreparedModel(s, arrays, ONE_THREAD)
    scores = Scorer(model, with_alignment=True)(source, mask, target, target_mask)
    ensemble, rows, steps = Ensemble([model]), Rows.of(source), []
    states, memories = ensemble.encode([(source, mask)])
    parents = rows.sentence
    for previous in rows.words_before(target):
        extended = StepRows(parents, previous, *rows)
        steps.append(ensemble.step(states, memories, extended, WordsToScore()))
        states, parents = steps[-1].states, np.arange(len(previous), dtype=np.int32)
    alignments = [step.alignments[0] for step in steps if step.alignments]
    log_probs = np.stack([step.log_probs for step in steps], axis=1)
    return scores, log_probs, np.stack(alignments, axis=1) if alignments else None


def check(s, seed=1, texts=None):
    """Compare a padded batch with the oracle, sentence by sentence: at once, and in steps."""
    arrays, texts = random_arrays(s, seed), texts or Texts.of(s)
    source, mask, target, target_mask = texts.batch(s)
    whole, aligned, in_double = by_tensorflow(s, arrays, source, mask, target)
    scores, in_steps, alignments = by_onnx(s, arrays, source, mask, target, target_mask)
    exact = ladder_oracle(s, arrays)
    for b, pair in enumerate(zip(*texts, strict=True)):
        expected, T = exact.force_decode(*pair), len(pair[1]) + 1
        rows = expected.distributions
        np.testing.assert_allclose(whole[b, :T], rows, DOUBLE, DOUBLE)
        found = scores.log_probs[b]
        np.testing.assert_allclose(found[:T], expected.log_probs, atol=LOG_PROBABILITY)
        assert not found[T:].any()  # padding has no score
        if not s.crf:  # its search maximises instead of summing: see test_labels
            for row in (2 * b, 2 * b + 1):
                np.testing.assert_allclose(in_double[row, :T], rows, DOUBLE, DOUBLE)
                np.testing.assert_allclose(in_steps[row, :T], rows, atol=LOG_PROBABILITY)
        if not s.attends:
            assert aligned == ()
            continue
        S = expected.alignment.shape[1]
        for alignment, tolerance in (
            (aligned[b].numpy(), DOUBLE),
            (scores.alignment[b], WEIGHTS),
            (alignments[2 * b], WEIGHTS),
        ):
            np.testing.assert_allclose(alignment[:T, :S], expected.alignment, atol=tolerance)
            assert not alignment[:T, S:].any()  # padding gets no attention
