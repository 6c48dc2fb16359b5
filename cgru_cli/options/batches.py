"""The options of `cgru train` for batches and for changes of their text."""

from __future__ import annotations

from dataclasses import dataclass

from ..text.copying import pattern
from .declaration import Group
from .kinds import COPIED
from .options import Options
from .scope import Scope

BATCHES = Group("Batches")
ORDER = Group("Batches", applies_to=Scope.RUN)


@dataclass(frozen=True)
class BatchOptions(Options):
    """The second part of `TrainOptions`."""

    mini_batch: int = ORDER.whole(1, 1_000_000, default=80)("""
        --mini-batch N (--batch_size): sentence pairs in a mini-batch""")
    mini_batch_words: int = ORDER.whole(
        0,
        100_000_000,
        default=0,
        by_data="1,000 to 4,000 unless --mini-batch is given",
        unless=("--mini-batch", "--mini-batch-fit"),
    )("""
        --mini-batch-words N (--token_batch_size): size of mini-batches in words (number of pairs
        times the longest side; with --compat marian, source words without padding) instead of
        sentence pairs; 0: in sentence pairs""")
    maxi_batch: int = ORDER.whole(1, 1_000_000, default=100)("""
        --maxi-batch N (--maxibatch_size): number of mini-batches to read and sort by length
        together""")
    max_length: int = ORDER.whole(1, 1_000_000, default=100)("""
        --max-length N (--maxlen): leave out sentence pairs with a longer side (words)""")
    all_caps_every: int = BATCHES.whole(0, 10**9, default=0)("""
        --all-caps-every N: train on every Nth sentence pair in upper case; 0: never""")
    typos_every: int = BATCHES.whole(0, 10**9, default=0, applies_to=Scope.SOURCE)("""
        --typos-every N: train on every Nth source sentence with mistyped letters; 0: never""")
    no_full_stop_every: int = BATCHES.whole(0, 10**9, default=0)("""
        --no-full-stop-every N: train on every Nth sentence pair without full stops at the end; 0:
        never""")
    join_every: int = BATCHES.whole(0, 10**9, default=0)("""
        --join-every N: join every Nth sentence pair with the one to three pairs before it, to form
        lines of several sentences; 0: never""")
    copy: tuple[str, ...] = BATCHES.values(pattern, applies_to=Scope.SOURCE)(f"""
        --copy PATTERN...: {COPIED}; placeholders replace spans that occur on both sides of a
        training pair; the vocabularies must have them (cgru prep --copy adds them, and replaces the
        spans itself)""")
