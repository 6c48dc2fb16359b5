"""Options and arguments of toolkits that cgru does not read, with cgru's names for them.

The toolkits: sentencepiece (spm_train), subword-nmt, fairseq, OpenNMT-py, joeynmt and Hugging Face.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from .prep import PrepOptions
from .score import ScoreOptions
from .train import TrainOptions
from .translate import TranslateOptions

# Each line has cgru's name, a colon, and the toolkits' names without dashes. `OUT` is an argument.
_NAMES = {
    PrepOptions: """
        --subword-vocabulary: vocab-size num-operations bpe-operations num-merges symbols
        --vocabulary-size: nwordssrc nwordstgt src-vocab-size tgt-vocab-size voc-limit
        --joint-vocabulary: joined-dictionary share-vocab
        --subwords: model-type
        --sample: input-sentence-size
        --source: train-src trainpref
        --target: train-tgt trainpref
        --dev: valid-src valid-tgt validpref
        --test: testpref
        --source-lang: src-lang
        --target-lang: tgt-lang trg-lang
        --lowercase: lower
        --max-length: max-sent-length src-seq-length tgt-seq-length
        --jobs: workers num-threads num-workers
        --codes: bpe-codes
        OUT: destdir save-data model-prefix
    """,
    TrainOptions: """
        --model: save-dir save-model model-dir output-dir
        --train-sets: train-src train-tgt
        --valid-sets: valid-src valid-tgt
        --vocabs: src-vocab tgt-vocab
        --dim-vocabs: vocab-size src-vocab-size tgt-vocab-size
        --type: arch
        --cell: rnn-type cell-type
        --dim-emb: encoder-embed-dim decoder-embed-dim word-vec-size embedding-dim
        --dim-rnn: encoder-hidden-size decoder-hidden-size rnn-size hidden-size
        --enc-depth: encoder-layers enc-layers layers num-layers
        --dec-depth: decoder-layers dec-layers layers num-layers
        --tied-embeddings-all: share-all-embeddings share-embeddings
        --tied-embeddings: share-decoder-input-output-embed share-decoder-embeddings tied-softmax
        --optimizer-delay: update-freq accum-count gradient-accumulation-steps
        --mini-batch: per-device-train-batch-size
        --mini-batch-words: max-tokens
        --optimizer: optim
        --learn-rate: lr
        --lr-warmup: warmup-updates
        --label-smoothing: label-smoothing-factor
        --precision: bf16
        --clip-norm: max-grad-norm clip-grad-norm
        --after: max-update train-steps max-steps
        --after-epochs: max-epoch epochs num-train-epochs
        --valid-freq: validate-interval-updates valid-steps validation-freq eval-steps
        --valid-metrics: metric-for-best-model
        --valid-mini-batch: per-device-eval-batch-size
        --early-stopping: early-stopping-patience
        --save-freq: save-interval-updates save-checkpoint-steps save-steps
        --keep: keep-last-epochs keep-interval-updates keep-checkpoint save-total-limit
        --disp-freq: log-interval report-every logging-freq logging-steps
        --pretrained-model: restore-file finetune-from-model train-from load-model
        --num-devices: distributed-world-size world-size
        --devices: gpu-ranks
    """,
    TranslateOptions: """
        --model: path ckpt
        --input: src
        --output: output-path
        --beam-size: beam num-beams
        --n-best-size: nbest num-return-sequences
        --normalize: lenpen length-penalty
        --max-length-factor: max-len-a
        --translation-maxlen: max-len-b max-new-tokens max-length
        --unk-replace: replace-unk
        --join-bpe: remove-bpe
        --alignment: print-alignment attn-debug return-attention
        --output-sampling: sampling random-sampling-topk do-sample
        --mini-batch: per-device-eval-batch-size
    """,
    ScoreOptions: """
        --model: path ckpt
        --source: src
        --target: tgt hyp
        --reference: ref refs
        --metric: metrics
    """,
}


@functools.cache
def _by_name(options: type) -> Mapping[str, Sequence[str]]:
    """cgru's names for each option of the toolkits."""
    found: dict[str, list[str]] = {}
    for line in _NAMES.get(options, "").strip().splitlines():
        here, _, names = line.strip().partition(": ")
        for name in names.split():
            found.setdefault(name, []).append(here)
    return found


def flags_here(typed: str, options: type) -> Sequence[str]:
    """cgru's flags for another toolkit's option or argument of this name; none if it is unknown."""
    return _by_name(options).get(typed.lstrip("-").replace("_", "-"), ())


def named_here(typed: str, options: type, words: Sequence[str]) -> str:
    """A message with cgru's name for another toolkit's option; "" for an unknown option.

    words: the command line, to know whether a vocabulary size counts words or sub-words.
    """
    here = flags_here(typed, options)
    unsplit = "--subwords=none" in words or "--subwords none" in " ".join(words)
    if list(here) == ["--subword-vocabulary"] and unsplit:
        here = ["--vocabulary-size"]
    if not here:
        return ""
    if "OUT" in here:
        return f"{typed} is the argument OUT here: cgru prep OUT"
    return f"{typed} is called {' and '.join(here)} here"
