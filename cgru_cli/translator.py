"""Batches of source lines in, rendered translations out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import model_file, model_vocabularies, postprocess
from .errors import CgruError, warn
from .lines import tokens
from .model_file import Model
from .options import TranslateOptions
from .output import Hypothesis
from .plan import Plan, max_tokens_of, sampling_of
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .decoder import Decoder
    from .search import Found, SearchSettings

EOS = 0


@dataclass
class SourceReader:
    """A model and how it reads source lines."""

    model: Model
    sources: list[Vocabulary]
    target: Vocabulary

    @classmethod
    def of(cls, path: str, options: TranslateOptions) -> SourceReader:
        model = model_file.read(path)
        *sources, target = model_vocabularies.find(model, options.vocabularies)
        for vocabulary in (*sources, target):
            if vocabulary.eos_id != EOS:
                raise CgruError(
                    f"{vocabulary.path}: ends sentences by id {vocabulary.eos_id}, the model by "
                    f"id {EOS}; it is not the vocabulary the model was trained with"
                )
        return cls(model, sources, target)

    def tokens(self, line: str, encode: bool) -> list[str]:
        """Words of a line, or the pieces of raw text."""
        return self.sources[0].tokenize(line) if encode else tokens(line)

    def ids(self, words: Sequence[str], number: int) -> list[tuple[int, ...]]:
        """Word ids, one of each factor, without EOS.

        Raises CgruError where a word has another number of factors than the model.
        """
        if len(self.sources) == 1:
            return [(i,) for i in self.sources[0].encode(words)]
        columns = []
        for word in words:
            factors = word.split("|")
            if len(factors) != len(self.sources):
                raise CgruError(
                    f"line {number + 1}: {word!r} has {len(factors)} factors, "
                    f"{self.model.path} reads {len(self.sources)} (word|factor|..)"
                )
            columns.append(factors)
        by_factor = zip(*columns, strict=True)
        return list(
            zip(
                *(v.encode(column) for v, column in zip(self.sources, by_factor, strict=False)),
                strict=True,
            )
        )


def check_ensemble(models: list[SourceReader]) -> None:
    first, *others = models
    for other in others:
        if other.target.fingerprint != first.target.fingerprint or (
            other.model.structure.target_vocabulary != first.model.structure.target_vocabulary
        ):
            raise CgruError(
                f"{other.model.path}: another target vocabulary than {first.model.path}; "
                "an ensemble needs one and the same"
            )


class Translator:
    """Batches of lines in, rendered text out."""

    def __init__(self, options: TranslateOptions, plan: Plan, models: list[SourceReader]):
        from .decoder import Decoder
        from .network import Network
        from .search import SearchSettings

        self.plan, self.models = plan, models
        self.target = models[0].target
        networks = []
        for reader in models:
            model = reader.model
            networks.append(Network(model.structure, model.arrays, options.precision))
            model.arrays = {}  # held by the network, in the form it multiplies
        self.decoder: Decoder = Decoder(networks, plan.weights)
        self.settings: SearchSettings = SearchSettings(
            beam_size=plan.beam_size,
            normalize=plan.normalize,
            word_penalty=plan.word_penalty,
            unk=self.target.unk_id if plan.suppress_unk else None,
            best_only=not options.n_best and min(plan.weights) >= 0,
            with_alignment=plan.with_alignment,
        )
        self.sampling = sampling_of(options)
        self.lexicon = postprocess.read_lexicon(options.lexicon) if options.lexicon else None
        self.encode = not options.no_spm_encode
        decode_pieces = not options.no_spm_decode

        def join(words: Sequence[str]) -> str:
            text = self.target.detokenize(words) if decode_pieces else " ".join(words)
            return postprocess.join_bpe(text) if options.join_bpe else text

        self.layout = dataclasses.replace(plan.layout, join=join)
        self.max_tokens = max_tokens_of(options.workspace, plan, [r.model for r in models])
        self.cut = 0

    def words(self, line: str, number: int) -> list[str]:
        """The words of a line, no more than are read."""
        words = self.models[0].tokens(line, self.encode)
        longest = self.plan.options.max_length
        if len(words) > longest:
            if not self.cut:
                warn(f"line {number + 1} has {len(words)} words; cut to --max-length {longest}")
            self.cut += 1
            words = words[:longest]
        return words

    def report(self) -> None:
        """Say how much was cut, once, at the end."""
        if self.cut > 1:
            warn(f"{self.cut} lines were cut to --max-length {self.plan.options.max_length}")

    def batch(self, numbers: Sequence[int], lines: Sequence[list[str]]) -> list[tuple[str, str]]:
        """Translate lines that are not empty: (text, alignments in a file of their own)."""
        ids = [
            [reader.ids(words, n) for words, n in zip(lines, numbers, strict=True)]
            for reader in self.models
        ]
        lattice = self.decoder.begin([padded(of_model) for of_model in ids])
        lengths = [len(words) + 1 for words in ids[0]]
        found = self._search(lattice, lengths, numbers)
        return [
            self.render(number, words, results)
            for number, words, results in zip(numbers, lines, found, strict=True)
        ]

    def _search(self, lattice, lengths: list[int], numbers: Sequence[int]) -> list[list[Found]]:
        from . import search

        limits = [self.plan.limit(length) for length in lengths]
        if self.sampling:
            return search.sample(lattice, lengths, limits, self.settings, self.sampling, numbers)
        if self.plan.search == "nematus-tf":
            return search.nematus_tf_beam(lattice, lengths, limits, self.settings)
        return search.shrinking_beam(lattice, lengths, limits, self.settings)

    def render(
        self, number: int, source: Sequence[str], results: Sequence[Found]
    ) -> tuple[str, str]:
        """The text of one line."""
        has_factors = len(self.models[0].sources) > 1
        surface = [word.split("|")[0] for word in source] if has_factors else source
        hypotheses = [self._hypothesis(found, surface) for found in results]
        if self.plan.options.output_alignment:
            return self.layout.render_apart(number, surface, hypotheses)
        return self.layout.render(number, surface, hypotheses), ""

    def empty(self, number: int) -> tuple[str, str]:
        """An empty line gives an empty line (in n-best lists, one empty hypothesis)."""
        hypothesis = Hypothesis((), True, 0.0, 0.0, (), (0.0,) * len(self.models), None)
        if not self.layout.n_best:
            return "\n", ""
        bare = dataclasses.replace(self.layout, alignment=None, word_scores=False)
        return bare.render(number, [], [hypothesis]), ""

    def _hypothesis(self, found: Found, source: Sequence[str]) -> Hypothesis:
        ids = found.words[:-1] if found.finished else found.words
        words = self.target.decode(int(i) for i in ids)
        if self.plan.options.unk_replace and found.alignment is not None:
            words = postprocess.replace_unknown(
                words, found.alignment, source, {self.target.unk}, self.lexicon
            )
        return Hypothesis(
            words,
            found.finished,
            found.score,
            found.total,
            found.word_scores.tolist(),
            found.model_scores.tolist(),
            found.alignment,
        )


def padded(lines: Sequence[list[tuple[int, ...]]]) -> tuple[np.ndarray, np.ndarray]:
    """Ids (B,S,F) ended and padded by EOS, and the mask (B,S)."""
    longest = max(len(words) for words in lines) + 1
    factors = len(lines[0][0])
    ids = np.full((len(lines), longest, factors), EOS, np.int32)
    mask = np.zeros((len(lines), longest), np.float32)
    for row, words in enumerate(lines):
        ids[row, : len(words)] = words
        mask[row, : len(words) + 1] = 1
    return ids, mask
