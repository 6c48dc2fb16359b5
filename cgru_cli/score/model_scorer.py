"""A model, how it reads both sides of a pair, and its forced decoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import CgruError
from ..formats.loaded_model import LoadedModel
from ..options.score import ScoreOptions
from ..system.lines import tokens
from ..text.source_words import SourceLines, pad_ids, prepared

if TYPE_CHECKING:
    from ..network.scorer import Scores
    from ..text.pipeline import Preprocessing


class ModelScorer:
    """A model, how it reads both sides, and its forced decoding."""

    def __init__(
        self, reader: LoadedModel, preprocessing: Preprocessing | None, options: ScoreOptions
    ):
        self.reader, self._preprocessing, self._options = reader, preprocessing, options
        encode = not options.no_spm_encode
        self._tokenize = reader.target.tokenize if encode else tokens
        self.source = SourceLines(
            reader.tokenizer(encode), preprocessing, longest=options.max_length
        )
        s = reader.model.structure
        # of a target word: logits, their exponentials and a copy; states and what is read of them
        per_token = 4.0 * (3 * s.target_vocabulary + 24 * s.state + 8 * s.context)
        self.max_tokens = max(1, int(options.workspace * 2**20 / per_token))

    def begin(self, *, with_alignment: bool) -> None:
        """Make the network ready, with the memory of the arrays as they were read given back."""
        from ..network.network import Network
        from ..network.scorer import Scorer

        model = self.reader.model
        network = Network(model.structure, model.arrays, self._options.precision, packed=True)
        model.arrays = {}
        self._scorer = Scorer(network, with_alignment=with_alignment)

    def target_words(self, line: str, number: int) -> list[str]:
        """The words of a translation (of line `number`, from 0) in the order of writing.

        Raises CgruError for one that is too long: cut, it would be another translation.
        """
        words = self._tokenize(prepared(self._preprocessing, line, "target", number))
        longest = self._options.max_length
        if len(words) > longest:
            raise CgruError(
                f"line {number + 1}: the translation has {len(words)} words; --max-length "
                f"{len(words)} allows it, if there is memory"
            )
        return words[::-1] if self.reader.model.settings.right_left else words

    def __call__(
        self, numbers: Sequence[int], sources: Sequence[list[str]], targets: Sequence[list[str]]
    ) -> Scores:
        """Score a batch: words of both sides of each line."""
        reader = self.reader
        ids = [reader.ids(words, n) for words, n in zip(sources, numbers, strict=True)]
        source, source_mask = pad_ids(ids, len(reader.sources))
        target, mask = pad_ids([[(i,) for i in reader.target.encode(words)] for words in targets])
        return self._scorer(source, source_mask, target[..., 0], mask)
