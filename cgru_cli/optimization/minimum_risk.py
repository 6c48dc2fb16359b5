"""Samples from a model in training, and their risks, for minimum risk training.

Shen et al. 2016; Nematus' --objective MRT. The sampler of `cgru translate` draws samples from the
model without dropout. The risk is 1 minus sentence-level BLEU or chrF by sacreBLEU, after joining
sub-words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..corpus.batches import Batch, grid_length
from ..network.keras_model import RecurrentModel
from ..network.network import SearchState
from ..parameters.structure import EOS_ID
from ..search.beam import shrinking_beam
from ..search.decoder_states import (
    Encoded,
    Sources,
    Stepper,
    StepResult,
    StepRows,
    WordsToScore,
    joined,
)
from ..search.hypotheses import SearchBatch
from ..search.settings import Sampling, SearchSettings
from ..text.vocabulary import Vocabulary
from .objective import Candidates

Loss = Callable[[str, str], float]  # hypothesis, reference -> risk


class MinimumRisk(NamedTuple):
    """The settings of minimum risk training."""

    samples: int  # per source, before duplicates are dropped
    with_reference: bool  # whether the expected risk counts the reference
    loss: str  # bleu or chrf
    longest: tuple[float, int] = (1.5, 5)  # a, b: a sample has at most a * source words + b
    rows: int = 256  # candidates computed together, at least all of one source


class _Distinct(NamedTuple):
    """The candidates of a source, reference first, and whether the risk counts the reference."""

    words: list[list[int]]
    first_counts: bool


class Steps(Stepper):
    """Steps of a model in training, whose weights change between batches, by TensorFlow."""

    def __init__(self, model: RecurrentModel):
        self.vocabulary = model.structure.target_vocabulary
        source = tf.TensorSpec([None, None, model.structure.source_columns], tf.int32)
        rows = tf.TensorSpec([None], tf.int32)

        def begin(source: tf.Tensor, mask: tf.Tensor) -> tuple[Any, Any]:
            network = model.network()
            memory = network.encode(source, mask, search=True)
            return network.start(memory).cells, memory

        def step(cells: Any, memory: Any, *rows: tf.Tensor) -> tuple[tf.Tensor, Any]:
            parents, previous, sentence, slot = rows
            cells = tf.nest.map_structure(lambda x: tf.gather(x, parents), cells)
            state = SearchState(cells, sentence, slot)
            logits, state, _ = model.network().step(state, previous, memory)
            log_probs = logits if model.structure.crf else tf.nn.log_softmax(logits)
            return log_probs, state.cells

        mask = tf.TensorSpec([None, None], tf.float32)
        self._begin = tf.function(begin, (source, mask), autograph=False).get_concrete_function()
        cells, memory = tf.nest.map_structure(
            lambda spec: tf.TensorSpec([None, *spec.shape[1:]], spec.dtype),
            self._begin.structured_outputs,
        )
        self._step = tf.function(step, (cells, memory, *[rows] * 4), autograph=False)

    def encode(self, sources: Sources) -> Encoded:
        cells, memory = self._begin(*map(tf.convert_to_tensor, sources[0]))
        return [cells], [memory]

    def step(
        self, states: list[Any], memories: list[Any], rows: StepRows, _words: WordsToScore
    ) -> StepResult:
        """The log-probabilities of all words, which samples need."""
        log_probs, cells = self._step(*states, *memories, *map(tf.convert_to_tensor, rows))
        every = log_probs.numpy()
        return StepResult(None, every, every[..., None], [cells], [])

    def columns(self, words: np.ndarray, members: np.ndarray) -> Any:
        raise NotImplementedError("samples in training choose from all words")

    def keep(self, memories: list[Any], rows: np.ndarray, lengths: np.ndarray) -> list[Any]:
        def kept(x: Any, spec: tf.TensorSpec) -> np.ndarray:
            return np.asarray(x)[rows, : lengths[0]] if _has_source(spec) else np.asarray(x)[rows]

        _, specs = self._begin.structured_outputs
        return [tf.nest.map_structure(kept, memories[0], specs)]

    def append(self, first: Any, second: Any) -> Any:
        def both(x: Any, y: Any, spec: tf.TensorSpec) -> np.ndarray:
            return joined(np.asarray(x), np.asarray(y), _has_source(spec))

        kinds = zip(first, second, self._begin.structured_outputs, strict=True)
        return tuple([tf.nest.map_structure(both, x[0], y[0], spec)] for x, y, spec in kinds)


def _has_source(spec: tf.TensorSpec) -> bool:
    """Whether an array of a memory has a source axis of any size, (B,S,..)."""
    return spec.shape.rank > 1 and spec.shape[1] is None


class Sampler:
    """Samples candidates for batches with the model's current weights."""

    def __init__(
        self,
        model: RecurrentModel,
        target: Vocabulary,
        risk: MinimumRisk,
        seed: int,
        *,
        grid: bool,
        join: Callable[[Sequence[str]], str],
    ):
        """join: words of the target's vocabulary -> text to compare."""
        self._decoder = Steps(model)
        self._target, self._risk, self._seed, self._grid = target, risk, seed, grid
        self._join, self._loss = join, loss(risk.loss)

    def __call__(
        self, batch: Batch, masks: Mapping[str, np.ndarray], numbers: Sequence[int], rows: int = 0
    ) -> list[tuple[Candidates, dict[str, np.ndarray]]]:
        """A batch's candidates, in parts to compute one after another.

        masks: the batch's dropout, shared by all candidates of a source. numbers: one per pair,
        unique in the training run; seeds the samples. rows: return at least as many parts as for a
        batch of this many pairs; the last parts may be empty.
        """
        lists = self._drawn(batch, numbers) if batch.sentences else []
        together = max(1, self._risk.rows // (self._risk.samples + 1))
        parts = []
        for start in range(0, max(rows, len(lists)), together):
            some = lists[start : start + together]
            # an empty part has one source, whose candidate has no words
            first, some = (start, some) if some else (0, [_Distinct([[]], False)])
            parts.append(self._part(batch, masks, some, first))
        return parts

    def _drawn(self, batch: Batch, numbers: Sequence[int]) -> list[_Distinct]:
        """The candidates of each source."""
        count = batch.sentences
        lengths = batch.source_mask[:count].sum(axis=1).astype(int)
        a, b = self._risk.longest
        begun = SearchBatch(
            self._decoder.begin([(batch.source[:count], batch.source_mask[:count])]),
            lengths.tolist(),
            [int(a * length) + b for length in lengths],
            lines=numbers,
        )
        sampling = SearchSettings(self._risk.samples, sampling=Sampling(seed=self._seed))
        drawn = dict(shrinking_beam([begun], sampling))
        references = [
            row[: int(mask.sum())].tolist()
            for row, mask in zip(batch.target[:count], batch.target_mask[:count], strict=True)
        ]
        return [
            self._distinct(reference, [result.words.tolist() for result in drawn[number]])
            for number, reference in enumerate(references)
        ]

    def _part(
        self, batch: Batch, masks: Mapping[str, np.ndarray], lists: Sequence[_Distinct], first: int
    ) -> tuple[Candidates, dict[str, np.ndarray]]:
        """The candidates of some sources of a batch, beginning with source number `first`."""
        width = self._risk.samples + 1
        longest = max(1, *(len(words) for each in lists for words in each.words))
        longest = grid_length(longest) if self._grid else longest
        target = np.full((len(lists), width, longest), EOS_ID, np.int32)
        mask = np.zeros((len(lists), width, longest), np.float32)
        risk = np.zeros((len(lists), width), np.float32)
        kept = np.zeros((len(lists), width), np.float32)
        for g, each in enumerate(lists):
            reference = self._text(each.words[0])
            for k, words in enumerate(each.words):
                target[g, k, : len(words)] = words
                mask[g, k, : len(words)] = 1
                kept[g, k] = k > 0 or each.first_counts
                risk[g, k] = self._loss(self._text(words), reference) if kept[g, k] else 0.0

        def repeated(x: np.ndarray) -> np.ndarray:
            return np.repeat(x[first : first + len(lists)], width, axis=0)

        examples = Batch(
            repeated(batch.source),
            repeated(batch.source_mask),
            target.reshape(-1, longest),
            mask.reshape(-1, longest),
        )
        dropped = {name: repeated(one) for name, one in masks.items() if name != "target"}
        if "target" in masks:  # whole words: candidates have other words, so drop by position
            whole = repeated(masks["target"])
            dropped["target"] = np.ones(examples.target.shape, np.float32)
            least = min(longest, whole.shape[1])
            dropped["target"][:, :least] = whole[:, :least]
        return Candidates(examples, risk, kept), dropped

    def _distinct(self, reference: list[int], samples: Sequence[list[int]]) -> _Distinct:
        """The reference, then each distinct sample; unfinished ones get an EOS."""
        ended = [words if words[-1] == EOS_ID else [*words, EOS_ID] for words in samples]
        counts = self._risk.with_reference or reference in ended
        return _Distinct([list(w) for w in dict.fromkeys(map(tuple, [reference, *ended]))], counts)

    def _text(self, words: Sequence[int]) -> str:
        return self._join(self._target.decode(words))


def loss(name: str) -> Loss:
    """1 - sentence BLEU or chrF, from 0 to 1."""
    from sacrebleu.metrics import BLEU, CHRF

    metric = BLEU(effective_order=True, tokenize="none") if name == "bleu" else CHRF()
    return lambda text, reference: 1 - metric.sentence_score(text, [reference]).score / 100
