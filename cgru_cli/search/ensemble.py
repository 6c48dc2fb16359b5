"""One or several models, looked at as a distribution over the next word.

A `Ensemble` holds the networks; a `Lattice` the rows (partial translations) of one batch while a
search extends them. An ensemble adds its members' weighted log-probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from ..network.network import SearchedModel, SearchState
from .output_words import OutputWords

# Rows of the memory are dropped with their sentences once this share of them is finished: each
# drop copies what is left.
COMPACT_BELOW = 0.75


class Expansion(NamedTuple):
    """What each row could be extended by; N words a row, the most probable first.

    Where a row has fewer words than N, the log-probability of the others is -inf.
    """

    words: np.ndarray  # (R,N) int32
    log_probs: np.ndarray  # (R,N) float32: weighted sum over the models
    model_log_probs: np.ndarray  # (R,N,M) float32: each model's own
    alignment: np.ndarray | None  # (R,S) float32: mean over the models


class Ensemble:
    """Models that share a target vocabulary, and their weights in the sum."""

    def __init__(self, networks: Sequence[SearchedModel], weights: Sequence[float]):
        self.networks = list(networks)
        self.weights = [float(weight) for weight in weights]
        self.vocabulary = networks[0].structure.target_vocabulary
        self._begin = [_beginning(network) for network in self.networks]
        # what a beginning gives is what the steps behind it take, with any number of rows
        begun = [_unbound(begin.structured_outputs) for begin in self._begin]
        rows = tf.TensorSpec([None], tf.int32)
        self._states = [state for state, _ in begun]
        self._memories = [memory for _, memory in begun]
        each = (self._states, self._memories, rows, rows)
        count = tf.TensorSpec([], tf.int32)
        self._best = _Compiled(self._advance_best, *each, count)
        self._all = _Compiled(self._advance_all, *each)
        asked = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, 2], tf.int32)
        self._asked = _Compiled(self._advance_asked, *each, count, *asked)
        if networks[0].structure.type.writes_text:  # labels are few
            narrow = [
                tf.nest.map_structure(_with_any_columns, network.read_out.columns(tf.constant([0])))
                for network in self.networks
            ]
            narrow = [columns._replace(of_row=rows) for columns in narrow]
            self._best_of = _Compiled(self._advance_best, *each, count, narrow, rows)
            self._all_of = _Compiled(self._advance_all, *each, narrow, rows)
            self._asked_of = _Compiled(self._advance_asked, *each, count, *asked, narrow)
        self._keep = _Compiled(_kept, self._memories, rows, rows)
        self._append = _Compiled(
            lambda first, second: tf.nest.map_structure(_appended, first, second),
            *((self._states, self._memories),) * 2,
        )

    def begin(
        self,
        sources: Sequence[tuple[np.ndarray, np.ndarray]],
        words: Sequence[np.ndarray] = (),
    ) -> Lattice:
        """Encode a batch, given as each model reads it: ids (B,S,F) and mask (B,S).

        words: ids that translations may have, ascending, EOS among them: an array (N,) for each
        sentence, or one for all; the whole vocabulary if there is none.
        """
        begun = [f(*source) for f, source in zip(self._begin, sources, strict=True)]
        states, memories = [state for state, _ in begun], [memory for _, memory in begun]
        narrow = None
        if len(words):
            sentences = np.arange(int(states[0].sentence.shape[0]))
            narrow = OutputWords.of(words, sentences % len(words), self.networks)
        lengths = np.array([np.asarray(mask).sum(axis=1) for _, mask in sources], np.int32)
        return Lattice(self, states, memories, lengths, narrow)

    def _step(self, states, memories, parents, previous, columns):
        """One step of every model on the chosen rows.

        A state's fields still have the last call's rows, its sentence and slot are the new rows'.
        """
        logits, new_states, alignments = [], [], []
        columns = columns or [None] * len(self.networks)
        members = zip(self.networks, states, memories, columns, strict=True)
        for network, state, memory, own_columns in members:
            chosen = tf.nest.map_structure(lambda x: tf.gather(x, parents), state.cells)
            state = state._replace(cells=chosen)
            model_logits, state, alignment = network.step(state, previous, memory, own_columns)
            logits.append(model_logits)
            new_states.append(state)
            alignments.append(alignment)
        return logits, new_states, alignments

    def _advance_best(
        self, states, memories, parents, previous, count, columns=None, vocabulary=None
    ):
        logits, states, alignments = self._step(states, memories, parents, previous, columns)
        if len(logits) == 1 and not self.networks[0].structure.crf:
            # the maximum is known: the log-softmax needs no pass of its own
            values, words = best(logits[0], count)
            largest = values[:, :1]
            if self.networks[0].quantized:  # oneDNN's softmax: half the time, not the same bits
                highest = tf.gather(tf.nn.softmax(logits[0]), words[:, :1], batch_dims=1)
                total = 1 / highest
            else:
                total = tf.reduce_sum(tf.exp(logits[0] - largest), axis=-1, keepdims=True)
            own = (values - largest - tf.math.log(total))[..., None]
            log_probs = own[..., 0] * self.weights[0]
        else:
            each = self._log_probs(logits)
            log_probs, words = best(self._weighted(each), count)
            own = tf.stack([tf.gather(part, words, batch_dims=1) for part in each], axis=-1)
        if vocabulary is not None:
            words = tf.gather(vocabulary, words)
        return words, log_probs, own, states, alignments

    def _advance_all(self, states, memories, parents, previous, columns=None, vocabulary=None):
        logits, states, alignments = self._step(states, memories, parents, previous, columns)
        own = self._log_probs(logits)
        return self._weighted(own), tf.stack(own, axis=-1), states, alignments

    def _advance_asked(
        self, states, memories, parents, previous, count, asked, banned, columns=None
    ):
        """The best words, and behind them those at the places asked (R,X); banned: (n,2) places."""
        logits, states, alignments = self._step(states, memories, parents, previous, columns)
        each = self._log_probs(logits)
        total = self._weighted(each)
        never = tf.fill([tf.shape(banned)[0]], tf.constant(-math.inf, total.dtype))
        total = tf.tensor_scatter_nd_update(total, banned, never)
        log_probs, words = best(total, count)
        words = tf.concat([words, asked], axis=1)
        log_probs = tf.concat([log_probs, tf.gather(total, asked, batch_dims=1)], axis=1)
        own = tf.stack([tf.gather(part, words, batch_dims=1) for part in each], axis=-1)
        return words, log_probs, own, states, alignments

    def _log_probs(self, logits: list[tf.Tensor]) -> list[tf.Tensor]:
        """Of each model, (R,V); what a tag of a CRF adds is given as it is, see `ladder.crf`."""
        return [
            part if network.structure.crf else tf.nn.log_softmax(part)
            for network, part in zip(self.networks, logits, strict=True)
        ]

    def _weighted(self, log_probs: list[tf.Tensor]) -> tf.Tensor:
        pairs = zip(self.weights, log_probs, strict=True)
        parts = [weight * part for weight, part in pairs if weight]  # 0 * -inf is no number
        return tf.add_n(parts or [tf.zeros_like(log_probs[0])])


def best(x: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The `count` largest of each row of (R,V), largest first, as `tf.math.top_k`.

    That looks at every number one by one, which at 30,000 words costs a third of the output
    layer's product. The largest numbers lie in the blocks with the largest maxima: only those
    blocks are looked into. Equal numbers come in the vocabulary's order here too.
    """
    vocabulary = x.shape[-1]
    if vocabulary is None:  # some words of it, whose number is known when the step is taken
        width, size = 128, tf.shape(x)[1]
        x = tf.pad(x, [[0, 0], [0, -size % width]], constant_values=-math.inf)
    else:
        width = next((w for w in range(128, 64, -1) if vocabulary % w == 0), 128)
        if vocabulary < 64 * width:
            return tf.math.top_k(x, tf.minimum(count, vocabulary))
        if vocabulary % width:
            x = tf.pad(x, [[0, 0], [0, -vocabulary % width]], constant_values=x.dtype.min)
    count_of_blocks = (x.shape[-1] or tf.shape(x)[1]) // width
    blocks = tf.reshape(x, [-1, count_of_blocks, width])
    taken = tf.minimum(count, count_of_blocks)
    _, which = tf.math.top_k(tf.reduce_max(blocks, axis=-1), taken)
    which = tf.sort(which, axis=-1)
    candidates = tf.gather(blocks, which, batch_dims=1)
    values, places = tf.math.top_k(tf.reshape(candidates, [-1, taken * width]), count)
    return values, tf.gather(which, places // width, batch_dims=1) * width + places % width


def _has_source_axis(x: tf.Tensor) -> bool:
    """Whether an array of a memory or state is (B,S,..): an axis of any size is the source's."""
    return x.shape.rank > 1 and x.shape[1] is None


def _kept(memories: list[Any], rows: tf.Tensor, lengths: tf.Tensor) -> list[Any]:
    """Some rows (B',) of memories, and so many words of the source of each model's (M,)."""

    def kept(x: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        return tf.gather(x[:, :length] if _has_source_axis(x) else x, rows)

    return [
        tf.nest.map_structure(lambda x, length=lengths[model]: kept(x, length), memory)
        for model, memory in enumerate(memories)
    ]


def _appended(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Rows below rows, the shorter sources padded."""
    if _has_source_axis(x):
        longest = tf.maximum(tf.shape(x)[1], tf.shape(y)[1])
        x, y = (
            tf.pad(z, [[0, 0], [0, longest - tf.shape(z)[1]]] + [[0, 0]] * (z.shape.rank - 2))
            for z in (x, y)
        )
    return tf.concat([x, y], axis=0)


def _beginning(network: SearchedModel) -> tf.types.experimental.ConcreteFunction:
    """Source ids (B,S,F) and mask (B,S) -> state and memory."""

    def begin(source: tf.Tensor, mask: tf.Tensor) -> tuple[SearchState, Any]:
        memory = network.encode(source, mask, search=True)
        return network.start(memory), memory

    return tf.function(begin, autograph=False).get_concrete_function(
        tf.TensorSpec([None, None, network.structure.source_columns], tf.int32),
        tf.TensorSpec([None, None], tf.float32),
    )


def _with_any_columns(x: tf.Tensor) -> tf.TensorSpec:
    """What stands for the output layer's arrays (..,N) of any number of words, or sets of them."""
    return tf.TensorSpec(
        [*(None if x.dtype == tf.bool else n for n in x.shape[:-1]), None], x.dtype
    )


class _Compiled:
    """A function of nested tensors, compiled when first called, for one signature.

    A `tf.function` looks at every call for the trace that fits all it is given and all weights that
    it reads: 0.8 ms, where the step of a single line takes 2.
    """

    def __init__(self, function: Callable[..., Any], *signature: Any):
        self._function, self._signature = function, signature
        self._trace: tf.types.experimental.ConcreteFunction | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._trace is None:
            self._trace = tf.function(
                # without arguments that have a default, which the trace would ask for
                lambda *given: self._function(*given),
                input_signature=self._signature,
                autograph=False,
            ).get_concrete_function()
        return self._trace(*arguments)


def _unbound(nest: Any) -> Any:
    """Specifications with any number of rows, for they change in the course of a search."""
    return tf.nest.map_structure(
        lambda spec: tf.TensorSpec([None, *spec.shape[1:]], spec.dtype), nest
    )


class Lattice:
    """The rows of a search: every model's states and memory, and which sentence a row is of."""

    def __init__(
        self,
        decoder: Ensemble,
        states: list[SearchState],
        memories: list[Any],
        lengths: np.ndarray,
        narrow: OutputWords | None = None,
    ):
        """lengths: (M,B) int32, words of the sources as each model reads them, EOS counted.
        narrow: the words that may be written, None for the whole vocabulary.
        """
        self.decoder, self._narrow = decoder, narrow
        self._states, self._memories = states, memories
        self._lengths = lengths  # of the memories' rows
        self._sentences = int(states[0].sentence.shape[0])
        self._row_of = np.arange(self._sentences)  # sentence -> row of the memory
        self.rows = self._sentences  # of the last call
        self._live = self._row_of  # sentences of the last call

    def join(self, other: Lattice) -> Lattice:
        """Both searches as one; the other's sentences and rows are numbered behind these."""
        self._states, self._memories = self.decoder._append(
            (self._states, self._memories), (other._states, other._memories)
        )
        if self._narrow is not None and other._narrow is not None:
            networks = self.decoder.networks
            self._narrow = self._narrow.followed_by(other._narrow, self._live, networks)
        self._lengths = np.append(self._lengths, other._lengths, axis=1)
        self._row_of = np.append(self._row_of, other._row_of + self._sentences)
        self._sentences += other._sentences
        self.rows += other.rows
        return self

    def expand(
        self,
        sentences: np.ndarray,
        parents: np.ndarray,
        previous: np.ndarray,
        count: int | None,
        with_alignment: bool,
        asked: np.ndarray | None = None,
        banned: Sequence[Sequence[int]] = (),
    ) -> Expansion:
        """Extend rows by their `count` best words, or (None) by all that may follow, by their ids.

        sentences, parents, previous: (R,) int32: the sentence of each new row (ascending), the
        row of the last call that it continues, and its last word (-1 at the start). asked: (R,X)
        int32, words that follow behind the best ones, which they may be among; -1 where there are
        fewer. banned: words of each row that are not among the best, and whose log-probability is
        -inf where they are asked for.
        """
        self._compact(sentences)
        rows = self._row_of[sentences].astype(np.int32)
        first = np.concatenate([[True], sentences[1:] != sentences[:-1]])
        starts = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
        slots = (np.arange(len(rows)) - starts).astype(np.int32)
        states = [state._replace(sentence=rows, slot=slots) for state in self._states]
        given = states, self._memories, parents, previous
        best, every, vocabulary = self.decoder._best, self.decoder._all, None
        narrow: tuple = ()
        if self._narrow is not None:
            best, every = self.decoder._best_of, self.decoder._all_of
            narrow = self._narrow.rows(sentences)
            vocabulary = self._narrow.words
        if asked is not None and count is not None:
            words, log_probs, own, self._states, alignments = self._expand_asked(
                given, narrow[:1], vocabulary, count, asked, banned
            )
        elif count is None:
            log_probs, own, self._states, alignments = every(*given, *narrow)
            log_probs = log_probs.numpy()
            if vocabulary is None:
                vocabulary = np.arange(log_probs.shape[1], dtype=np.int32)
            words = np.broadcast_to(vocabulary, log_probs.shape)
        else:
            size = self.decoder.vocabulary if vocabulary is None else len(vocabulary)
            words, log_probs, own, self._states, alignments = best(
                *given, min(count, size), *narrow
            )
            words, log_probs = words.numpy(), log_probs.numpy()
        of_models = [alignment.numpy() for alignment in alignments if tf.is_tensor(alignment)]
        self.rows = len(sentences)
        alignment = None
        if with_alignment and of_models:
            same = [part for part in of_models if part.shape == of_models[0].shape]
            alignment = np.mean(same, axis=0)
        return Expansion(words, log_probs, own.numpy(), alignment)

    def _expand_asked(
        self,
        given: tuple[Any, ...],
        narrow: tuple[Any, ...],
        vocabulary: np.ndarray | None,
        count: int,
        asked: np.ndarray,
        banned: Sequence[Sequence[int]],
    ) -> tuple[Any, ...]:
        """Words, log-probabilities and the rest of a step to the best words and those asked for."""
        pairs = [(row, word) for row, words in enumerate(banned) for word in words]
        forbidden = np.array(pairs, np.int32).reshape(-1, 2)
        known, size = asked >= 0, self.decoder.vocabulary
        places = np.maximum(asked, 0)
        if vocabulary is not None:
            size = len(vocabulary)
            places = np.minimum(np.searchsorted(vocabulary, places), size - 1)
            known &= vocabulary[places] == asked
            forbidden = forbidden[np.isin(forbidden[:, 1], vocabulary)]
            forbidden[:, 1] = np.searchsorted(vocabulary, forbidden[:, 1])
        step = self.decoder._asked_of if narrow else self.decoder._asked
        words, log_probs, *rest = step(
            *given, min(count, size), places.astype(np.int32), forbidden, *narrow
        )
        words, log_probs = np.array(words), np.array(log_probs)
        if vocabulary is not None:
            words = vocabulary[words]
        first = words.shape[1] - asked.shape[1]
        words[:, first:] = np.where(known, asked, -1)
        log_probs[:, first:][~known] = -np.inf
        return words, log_probs, *rest

    def _compact(self, sentences: np.ndarray) -> None:
        """Let go of finished sentences' memory when enough of it is idle.

        What is left is as wide as its longest source: a search may go on for very long.
        """
        self._live = live = np.unique(sentences)
        if len(live) >= COMPACT_BELOW * self._sentences:
            return
        kept = self._row_of[live].astype(np.int32)
        self._lengths = self._lengths[:, kept]
        self._memories = self.decoder._keep(self._memories, kept, self._lengths.max(axis=1))
        self._row_of = np.full(len(self._row_of), -1)
        self._row_of[live] = np.arange(len(live))
        self._sentences = len(live)
