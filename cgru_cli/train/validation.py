"""Validate a model in training: its costs on a dev set, and scores of its translations."""

from __future__ import annotations

import functools
import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UsageError, writing
from ..options.score import LABEL_METRICS, ScoreOptions
from ..options.train import TrainOptions
from ..parameters.program import PROGRAMS, label_limit
from ..parameters.structure import Type
from ..system.atomic_files import atomic_write
from ..system.windows import batches
from ..text.source_words import pad_ids
from .dev_set import DevSet
from .validation_script import Check, command_of, score_of

if TYPE_CHECKING:
    import tensorflow as tf

    from ..network.keras_model import RecurrentModel
    from ..search.hypotheses import SearchBatch

COSTS = ("cross-entropy", "ce-mean-words", "perplexity")  # without translations
_COMPUTED = ("bleu", "bleu-detok", "chrf", *LABEL_METRICS)  # of translations, without a script
WORKSPACE = 2048  # MiB for a batch, as in `cgru translate`
LOGITS = 1 << 26  # maximum number of logits of a batch in forced decoding: 256 MiB per copy


class Validator:
    """Measures weights on a dev set.

    metrics: names in `LOWER_IS_BETTER`. model: a packed model, which receives the weights.
    Raises CgruError if the script cannot be run, UsageError for options that exclude each other.
    """

    def __init__(
        self, options: TrainOptions, metrics: Sequence[str], dev_set: DevSet, model: RecurrentModel
    ):
        import tensorflow as tf

        from ..optimization.words import signature

        self.options, self.metrics, self.dev_set, self.model = options, metrics, dev_set, model
        self.translated: list[str] = []  # translations of the last run
        self.seconds = 0.0  # duration of the last translation
        self.per_word: float | None = None  # the last cross-entropy, in nats per word with EOS
        self._translates = bool(set(metrics) - {*COSTS, "valid-script"})
        self._script: list[str] = []
        if options.valid_script is not None and {"translation", "valid-script"} & set(metrics):
            self._script = [*command_of(options.valid_script), *options.valid_script_args]
        if options.valid_translation_output and not self._translates:
            raise UsageError(
                "--valid-translation-output needs a metric of translations, such as bleu"
            )
        first = options.compat in ("marian", "nematus-tf")
        self._score_of = functools.partial(score_of, first=first)
        self._costs = tf.function(
            self._costs_of, input_signature=signature(model.structure), autograph=False
        )

    def run(
        self, arrays: Mapping[str, np.ndarray], epoch: int, update: int, check: Check
    ) -> dict[str, float]:
        """Compute all metrics, in their order, for arrays given by their DL4MT/Nematus names.

        Costs are in nats per sentence, or per word with EOS; BLEU and chrF are from 0 to 100.
        `check` is called between batches. Raises CgruError if the script fails or prints no score,
        or if a file cannot be written.
        """
        self.model.assign(arrays)
        values: dict[str, float] = {}
        if set(COSTS) & set(self.metrics):
            values = self._all_costs(check)
        if self._translates:
            began = time.perf_counter()
            self.translated = self._translations(arrays, check)
            self.seconds = time.perf_counter() - began
            values |= self._scores(self.translated, epoch, update, check)
        if "valid-script" in self.metrics:
            values["valid-script"] = self._score_of(self._script, check)
        return {metric: values[metric] for metric in self.metrics}

    def look(self, arrays: Mapping[str, np.ndarray], check: Check) -> dict[str, float]:
        """The metrics of `run` that need no script, of greedy translations; writes no file."""
        self.model.assign(arrays)
        values = self._all_costs(check) if set(COSTS) & set(self.metrics) else {}
        if set(_COMPUTED) & set(self.metrics):
            values |= self._computed(self._translations(arrays, check, greedy=True), check)
        return {metric: values[metric] for metric in self.metrics if metric in values}

    def _translations(
        self, arrays: Mapping[str, np.ndarray], check: Check, *, greedy: bool = False
    ) -> list[str]:
        """The best translation of each line, as plain text; "" for an empty line."""
        from ..search.beam import max_tokens_of, shrinking_beam
        from ..search.ensemble import Ensemble
        from ..search.hypotheses import SearchBatch
        from ..search.runtime import PreparedModel, Settings
        from ..search.settings import SearchSettings

        sources, kind = self.dev_set.sources, self.model.structure.type
        beam_size = 1 if greedy else self.options.searched_beam
        limit = PROGRAMS["nematus"].limit
        if not kind.writes_text:  # labels need no beam
            beam_size, limit = 1, label_limit
        texts = [""] * len(sources)
        labelled = kind is Type.CLASSIFIER  # even an empty line has a label
        filled = [line for line, words in enumerate(sources) if words or labelled]
        max_tokens = max_tokens_of(WORKSPACE, beam_size, [self.model.structure])
        sizes = [len(sources[line]) + 1 for line in filled]
        settings = Settings("cpu", self.options.cpu_threads)
        ensemble = Ensemble([PreparedModel(self.model.structure, arrays, settings)])
        started: list[int] = []  # lines in the order of the search's sentence numbers

        def search_batches() -> Iterator[SearchBatch]:
            for batch in batches(sizes, self.options.valid_mini_batch, max_tokens):
                check()
                lines = [filled[i] for i in batch]
                started.extend(lines)
                lengths = [sizes[i] for i in batch]
                states = ensemble.begin([self._padded_sources(lines)])
                yield SearchBatch(states, lengths, [limit(length) for length in lengths])

        no_unk = self.options.suppress_unk and kind.writes_text
        unk = self.dev_set.encoding.target.unk_id if no_unk else None
        search_settings = SearchSettings(
            beam_size, self.options.length_power, unk=unk, best_only=True
        )
        for place, hypotheses in shrinking_beam(search_batches(), search_settings):
            if hypotheses:  # there are none if no score is finite
                texts[started[place]] = self.dev_set.encoding.text(hypotheses[0].words)
        return texts

    def _padded_sources(self, rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        columns = self.model.structure.source_columns
        return pad_ids([self.dev_set.sources[row] for row in rows], columns)

    def _costs_of(
        self, source: tf.Tensor, source_mask: tf.Tensor, target: tf.Tensor, mask: tf.Tensor
    ) -> tf.Tensor:
        """The cost -log p of each sentence: (B,) nats."""
        import tensorflow as tf

        from ..optimization.words import score

        log_probs = score(self.model.network(), source, source_mask, target, mask)
        return -tf.reduce_sum(log_probs, axis=1)

    def _all_costs(self, check: Check) -> dict[str, float]:
        sources, all_targets = self.dev_set.sources, self.dev_set.targets
        lengths = [
            max(len(source), len(target)) + 1
            for source, target in zip(sources, all_targets, strict=True)
        ]
        max_tokens = max(1, LOGITS // self.model.structure.target_vocabulary)
        counted, compat = list(range(len(lengths))), self.options.compat or ""
        if compat.startswith("nematus"):  # --maxlen also limits these pairs; Theano's counts EOS
            longest = self.options.max_length + 1 + (compat == "nematus")
            counted = [row for row in counted if lengths[row] <= longest] or counted
        sizes, total = [lengths[row] for row in counted], 0.0
        for batch in batches(sizes, self.options.valid_mini_batch, max_tokens):
            check()
            rows = [counted[i] for i in batch]
            targets, mask = pad_ids([[(i,) for i in all_targets[row]] for row in rows])
            costs = self._costs(*self._padded_sources(rows), targets[..., 0], mask)
            total += float(np.sum(costs.numpy(), dtype=np.float64))
        ends = self.model.structure.type.writes_text
        mean = total / sum(len(all_targets[row]) + ends for row in counted)
        self.per_word = mean
        return {
            "cross-entropy": total / len(counted),
            "ce-mean-words": mean,
            "perplexity": math.exp(mean) if mean < 700 else mean * math.inf,
        }

    def _scores(
        self, texts: Sequence[str], epoch: int, update: int, check: Check
    ) -> dict[str, float]:
        """Compute the metrics of translations, and write --valid-translation-output."""
        metrics, output = self.metrics, self.options.valid_translation_output
        scores = self._computed(texts, check)
        if output or "translation" in metrics:
            with tempfile.TemporaryDirectory(prefix="cgru-") as folder:
                path = Path(folder, "translations.txt")
                if output:
                    path = Path(output.replace("{E}", str(epoch)).replace("{U}", str(update)))
                _write(path, texts)
                if "translation" in metrics:
                    scores["translation"] = self._score_of([*self._script, str(path)], check)
        return scores

    def _computed(self, texts: Sequence[str], check: Check) -> dict[str, float]:
        """The metrics of translations that need no script."""
        scores = {}
        for name in sorted(set(_COMPUTED) & set(self.metrics)):
            from ..score.metrics.evaluation import metric_of

            check()
            kind, references = name.removesuffix("-detok"), [self.dev_set.references]
            metric = metric_of(kind, ScoreOptions(), references, [texts], force=True)
            scores[name] = metric.corpus_score(texts, None).score
        return scores


def _write(path: Path, texts: Sequence[str]) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write("".join(f"{text}\n" for text in texts).encode("utf-8", errors="replace"))
