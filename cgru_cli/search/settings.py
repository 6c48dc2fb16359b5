"""Settings of searches: how hypotheses are ranked, and how samples are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Sampling:
    """How to draw samples; see `sampling.weights`. The seed and the line number fix a sample.

    top: sample from this number of most probable words; nucleus: from the most probable words with
    this total probability; epsilon: from words with at least this probability.
    """

    temperature: float = 1.0
    top: int | None = None
    nucleus: float = 1.0
    epsilon: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class SearchSettings:
    """How hypotheses are extended and ranked.

    normalize: alpha in the division by length ** alpha; word_penalty: subtracted per word; unk: the
    id of the unknown word if it is suppressed, otherwise None; best_only: stop as soon as the best
    hypothesis is decided; with_alignment: keep the attention; first_aligns: that of the first model
    instead of the mean; sampling: draw `beam_size` samples instead of using a beam; utility: rank
    the hypotheses by expected chrf or bleu, see `translate.expected_utility`; prefix_bias: the
    share of a prefix's word in the distribution over the next word, None to force the prefix.
    """

    beam_size: int = 5
    normalize: float = 0.0
    word_penalty: float = 0.0
    unk: int | None = None
    best_only: bool = False
    with_alignment: bool = False
    first_aligns: bool = False
    sampling: Sampling | None = None
    utility: str | None = None
    prefix_bias: float | None = None

    def total(self, score: Any, length: Any) -> Any:
        """The score by which hypotheses are ranked, for numbers or arrays.

        (score - penalty * length) / length ** alpha
        """
        return (score - self.word_penalty * length) / length**self.normalize


class ChannelSum(NamedTuple):
    """The score of a translation with T words of a source with S words, both including EOS:

        (log p(y|x) - penalty T) / T^a  +  (channel log p(x|y) + lm log p(y)) / S^a

    Yee et al. set a = 1, no penalty, and one weight for both; Bhosale et al. 2020, "Language Models
    not just for Pre-training", have two weights. For an unfinished translation, T counts its words
    so far, and S all words of the source.
    """

    channel: float  # weight
    lm: float  # weight
    settings: SearchSettings  # a is its `normalize`, penalty its `word_penalty`

    def total(self, direct: Any, channel: Any, lm: Any, length: Any, source_length: Any) -> Any:
        """The weighted sum of log-probabilities, for numbers or arrays of the same shape."""
        reverse = self.channel * channel + self.lm * lm
        divided = reverse / source_length**self.settings.normalize
        return self.settings.total(direct, length) + divided
