"""The options of `cgru train` for batches and for what happens to their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..text.copying import pattern
from .declaration import choice, frequency, options_of, read_by, whole
from .flags import Options
from .kinds import COPIED

batch_option = options_of("Batches")


@dataclass(frozen=True)
class BatchOptions(Options):
    """The second part of `TrainOptions`."""

    mini_batch: int = batch_option(
        "--mini-batch N (--batch_size): sentence pairs in a mini-batch",
        whole(1, 1_000_000, default=80),
    )
    mini_batch_words: int = batch_option(
        "--mini-batch-words N (--token_batch_size): size of mini-batches in words (number of "
        "pairs times the longest side) instead of sentence pairs; 0: in sentence pairs",
        whole(0, 100_000_000, default=0, by_data="1,000 to 4,000 unless --mini-batch is given"),
    )
    mini_batch_fit: bool = batch_option(
        "--mini-batch-fit: make mini-batches as large as fits into --workspace",
        excludes="--mini-batch-words",
    )
    workspace: int = batch_option(
        "-w --workspace MB: memory for a mini-batch with --mini-batch-fit, beside model and "
        "optimiser (MiB)",
        whole(1, 16_777_216, default=2048),
    )
    mini_batch_warmup: str = batch_option(
        "--mini-batch-warmup N[u|e|t]: let mini-batches grow linearly for N updates (u) or epochs "
        "(e), or with the square root for N target words (t): each keeps a share of its sentence "
        "pairs, of at least 256 target words, and the others are left out",
        frequency("0"),
    )
    mini_batch_words_ref: int = batch_option(
        "--mini-batch-words-ref N: target words of the mini-batch to which the learning rate of "
        "adam and --exponential-smoothing refer; both grow for updates with more target words; 0: "
        "both are the same for every update",
        whole(0, 100_000_000, default=0),
    )
    maxi_batch: int = batch_option(
        "--maxi-batch N (--maxibatch_size): number of mini-batches to read and sort by length "
        "together",
        whole(1, 1_000_000, default=100),
    )
    maxi_batch_sort: Literal["trg", "src", "none"] = batch_option(
        "--maxi-batch-sort: side whose length determines the order of the sentence pairs in a "
        "maxi-batch",
        choice("trg", "src", "none", default="trg"),
    )
    max_length: int = batch_option(
        "--max-length N (--maxlen): leave out sentence pairs with a longer side (words)",
        whole(1, 1_000_000, default=100),
    )
    max_length_crop: bool = batch_option(
        "--max-length-crop: cut sentences longer than --max-length instead of leaving the pair out"
    )
    all_caps_every: int = batch_option(
        "--all-caps-every N: train on every Nth sentence pair in upper case; 0: never",
        whole(0, 10**9, default=0),
    )
    english_title_case_every: int = batch_option(
        "--english-title-case-every N: train on every Nth source sentence in English title case; "
        "0: never",
        whole(0, 10**9, default=0),
    )
    typos_every: int = batch_option(
        "--typos-every N: train on every Nth source sentence with mistyped letters; 0: never",
        whole(0, 10**9, default=0),
    )
    no_full_stop_every: int = batch_option(
        "--no-full-stop-every N: train on every Nth sentence pair without full stops at the end; "
        "0: never",
        whole(0, 10**9, default=0),
    )
    join_every: int = batch_option(
        "--join-every N: join every Nth sentence pair with one to three pairs before it, like "
        "lines with several sentences; 0: never",
        whole(0, 10**9, default=0),
    )
    copy: tuple[str, ...] = batch_option(
        "--copy PATTERN...: " + COPIED + "; replace those that stand on both sides of a pair of "
        "the training text by placeholders, which the vocabularies must have (cgru prep --copy "
        "makes them, and replaces the spans of its text itself)",
        read_by(pattern),
    )
    no_spm_encode: bool = batch_option(
        "--no-spm-encode: the texts are in SentencePiece pieces already; do not split them"
    )
    no_shuffle: bool = batch_option("--no-shuffle: read sentence pairs in the order of the text")
    shuffle_batches: bool = batch_option(
        "--shuffle-batches: shuffle the mini-batches of each maxi-batch even with --no-shuffle",
        needs="--no-shuffle",
    )
