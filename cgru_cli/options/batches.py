"""The options of `cgru train` for batches and for changes of their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..text.copying import pattern
from .declaration import Group
from .flags import Options
from .kinds import COPIED
from .scope import Scope

BATCHES = Group("Batches")
ORDER = Group("Batches", applies_to=Scope.RUN)

SortedBy = Literal["trg", "src", "none"]


@dataclass(frozen=True)
class BatchOptions(Options):
    """The second part of `TrainOptions`."""

    mini_batch: int = ORDER.whole(1, 1_000_000, default=80)("""
        --mini-batch N (--batch_size): sentence pairs in a mini-batch""")
    mini_batch_words: int = ORDER.whole(
        0, 100_000_000, default=0, by_data="1,000 to 4,000 unless --mini-batch is given"
    )("""
        --mini-batch-words N (--token_batch_size): size of mini-batches in words (number of pairs
        times the longest side; with --compat marian, source words without padding) instead of
        sentence pairs; 0: in sentence pairs""")
    mini_batch_fit: bool = ORDER.values(excludes="--mini-batch-words")("""
        --mini-batch-fit: make mini-batches as large as fits into --workspace""")
    workspace: int = BATCHES.whole(1, 16_777_216, default=2048, needs="--mini-batch-fit")("""
        -w --workspace MB: memory for a mini-batch with --mini-batch-fit, beside model and optimiser
        (MiB)""")
    mini_batch_warmup: str = BATCHES.frequency("0")("""
        --mini-batch-warmup N[u|e|t]: let mini-batches grow linearly for N updates (u) or epochs
        (e), or with the square root for N target words (t): each keeps a share of its sentence
        pairs, at least 256 target words, and leaves out the rest""")
    mini_batch_words_ref: int = BATCHES.whole(0, 100_000_000, default=0)("""
        --mini-batch-words-ref N: number of target words per update for which the learning rate of
        adam and --exponential-smoothing are given; both grow for updates with more target words; 0:
        both are the same for every update""")
    maxi_batch: int = ORDER.whole(1, 1_000_000, default=100)("""
        --maxi-batch N (--maxibatch_size): number of mini-batches to read and sort by length
        together""")
    maxi_batch_sort: SortedBy = ORDER.choice(*get_args(SortedBy), default="trg")("""
        --maxi-batch-sort: side whose length determines the order of the sentence pairs in a
        maxi-batch""")
    max_length: int = ORDER.whole(1, 1_000_000, default=100)("""
        --max-length N (--maxlen): leave out sentence pairs with a longer side (words)""")
    max_length_crop: bool = BATCHES.values(applies_to=Scope.UNTAGGED | Scope.RUN)("""
        --max-length-crop: cut sentences longer than --max-length instead of leaving the pair
        out""")
    all_caps_every: int = BATCHES.whole(0, 10**9, default=0)("""
        --all-caps-every N: train on every Nth sentence pair in upper case; 0: never""")
    english_title_case_every: int = BATCHES.whole(0, 10**9, default=0, applies_to=Scope.SOURCE)("""
        --english-title-case-every N: train on every Nth source sentence in English title case; 0:
        never""")
    typos_every: int = BATCHES.whole(0, 10**9, default=0, applies_to=Scope.SOURCE)("""
        --typos-every N: train on every Nth source sentence with mistyped letters; 0: never""")
    no_full_stop_every: int = BATCHES.whole(0, 10**9, default=0)("""
        --no-full-stop-every N: train on every Nth sentence pair without full stops at the end; 0:
        never""")
    join_every: int = BATCHES.whole(0, 10**9, default=0)("""
        --join-every N: join every Nth sentence pair with one to three pairs before it, like lines
        with several sentences; 0: never""")
    copy: tuple[str, ...] = BATCHES.values(pattern, applies_to=Scope.SOURCE)(f"""
        --copy PATTERN...: {COPIED}; replace spans that occur on both sides of a training pair by
        placeholders, which the vocabularies must have (cgru prep --copy adds them, and replaces the
        spans itself)""")
    no_spm_encode: bool = BATCHES("""
        --no-spm-encode: the texts are already in SentencePiece pieces; do not split them""")
    no_shuffle: bool = ORDER("--no-shuffle: read sentence pairs in the order of the text")
    shuffle_batches: bool = ORDER.values(needs="--no-shuffle")("""
        --shuffle-batches: shuffle the mini-batches of each maxi-batch even with --no-shuffle""")
