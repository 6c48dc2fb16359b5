"""The options of `cgru translate`."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ..parameters.program import COMPAT
from ..text.copying import pattern
from . import kinds
from .declaration import Group
from .kinds import COPIED, sampling, two_files, unchanged, weight
from .line_filter import ATTENTION, MODEL_AND_TEXT, SCORES, FilterOptions
from .scope import Scope

TEXT = Group("Model and text", applies_to=Scope.TRANSLATOR)
SEARCH = Group("Search", applies_to=Scope.CALL)
TEXT_SEARCH = Group("Search", applies_to=Scope.CALL | Scope.DECODER)
EVERY_SEARCH = Group("Search", applies_to=Scope.TRANSLATOR | Scope.DECODER)
LINES = Group("Search", applies_to=Scope.DECODER | Scope.OWN_SEARCH)
SAMPLING = Group("Sampling", applies_to=Scope.CALL)
RISK = Group("Minimum Bayes risk", applies_to=Scope.CALL)
CHANNEL = Group("Noisy channel", applies_to=Scope.TRANSLATOR)
WORDS = Group("Output text", applies_to=Scope.TRANSLATOR)
BATCHES = Group("Devices and memory", applies_to=Scope.CALL)

_SAMPLES = ("--output-sampling", "--mbr without --mbr-n-best")


@dataclass(frozen=True)
class TranslateOptions(FilterOptions):
    """`cgru translate`; several models are an ensemble.

    None: default of the model's program.
    """

    input: tuple[str, ...] = MODEL_AND_TEXT("""
        -i --input FILE...: text to translate, .gz too; standard input if not given""")
    resume: bool = MODEL_AND_TEXT.values(
        needs="--output", excludes=("--output-alignment", "--alignment-format", "--heatmap")
    )("""
        --resume: continue the --output of an interrupted run without translating its lines
        again""")
    document: tuple[str, ...] = MODEL_AND_TEXT.values(
        together=two_files,
        excludes="""
        --input --output --n-best --word-scores --alignment --alignment-format --output-alignment
        --heatmap --tsv --force-decode --constraints --markup --output-sampling --char-level
        --no-spm-encode --no-spm-decode --channel-model --mbr""".split(),
    )("""
        --document IN OUT: translate the document IN to OUT and keep its structure: .txt, .md,
        .html, .srt, .po, .xliff or .docx; paragraphs are translated as with --split-sentences, and
        marks are placed as with --markup""")
    tsv: bool = MODEL_AND_TEXT("""
        --tsv: lines have tab-separated fields: only the source or, with --force-decode, also the
        beginning of its translation; more fields are an error""")
    split_sentences: str | None = MODEL_AND_TEXT.values(
        implied="auto",
        excludes="""
        --n-best --word-scores --alignment --alignment-format --output-alignment --heatmap --tsv
        --force-decode --constraints --output-sampling --char-level""".split(),
        applies_to=Scope.DECODER | Scope.CALL,
    )("""
        --split-sentences CODE: split lines into sentences, translate each separately and join the
        translations; the language CODE decides where sentences end; auto: the model's source
        language, or English if it is unknown""")
    bpe: str | None = TEXT("""
        --bpe FILE: split the words of the source with these subword-nmt codes""")
    markup: str | None = MODEL_AND_TEXT.choice(
        "html",
        "markdown",
        implied="html",
        excludes=("--char-level", "--no-spm-decode", "--channel-model", "--no-spm-encode"),
        applies_to=Scope.ATTENTION | Scope.CALL,
    )("""
        --markup html|markdown: remove markup before translation, and put it back around the
        corresponding translated words, which the attention finds: tags and entities of HTML or XML
        (html), or Markdown's emphasis, code, links and images, and tags (markdown)""")
    char_level: bool = TEXT.values(excludes="--bpe")("""
        --char-level: read each character of the source as a word, spaces included, for
        character-level models""")
    compat: str | None = TEXT.choice(*COMPAT)("""
        --compat PROGRAM: use this program's defaults, search, sign of scores and output layout""")
    max_length: int = TEXT.whole(1, 1_000_000, default=1000)("""
        --max-length N: cut longer source lines, with a warning (words)""")

    weights: tuple[float | str, ...] = SCORES.values(weight, applies_to=Scope.TRANSLATOR)("""
        --weights W...|FILE: weight of each model of an ensemble, then of --channel-model and --lm,
        or a file written by cgru score --tune; equal if not given""")
    word_penalty: float | None = SCORES.number(
        -1000, 1000, applies_to=Scope.DECODER | Scope.CALL
    )("""
        --word-penalty P: number to subtract from a translation's score for each word (nats)""")
    n_best: bool = SCORES("--n-best: print all hypotheses of the beam, with their scores")
    n_best_size: int | None = SCORES.whole(1, 1000, needs="--n-best")("""
        --n-best-size N: print N hypotheses of the beam; all if not given""")

    beam_size: int | None = SEARCH.whole(1, 1000)("-k --beam-size K: beam size; 1: greedy search")
    max_length_factor: float | None = TEXT_SEARCH.number(0, 1000)("""
        --max-length-factor F (--max-ratio -mr): maximum length of a translation as a multiple of
        the source's length, including ends of sentences; 0: the limit of the model's program""")
    translation_maxlen: int | None = TEXT_SEARCH.whole(1, 1_000_000)("""
        --translation-maxlen N: maximum length of a translation, including the end of the sentence
        (words)""")
    force_decode: bool = LINES("""
        --force-decode: begin each translation with the words after a tab on its line; a language
        model begins with the words of the line""")
    prefix_bias: float | None = SEARCH.number(above=0, below=1, needs="--force-decode")("""
        --prefix-bias B: suggest the beginning of --force-decode instead of forcing it: its words
        get a share B of the probability as long as the translation follows it""")
    allow_unk: bool = TEXT_SEARCH.values(excludes="--suppress-unk")("""
        --allow-unk: allow the unknown word in translations""")
    suppress_unk: bool = TEXT_SEARCH("--suppress-unk: never produce the unknown word")

    constraints: str | None = LINES.choice("tabs", "inline", implied="tabs", excludes=_SAMPLES)("""
        --constraints tabs|inline: each line has phrases that its translation must contain and,
        after an empty field, phrases that it must not contain, in tab-separated fields after the
        source (tabs), or as <n translation="PHRASE">words</n> and <n avoid="PHRASE"/> in the source
        (inline); || separates alternatives""")
    avoid: str | None = EVERY_SEARCH.values(excludes=_SAMPLES, applies_to=Scope.OWN_SEARCH)("""
        --avoid FILE: file of phrases, one per line, that no translation may contain""")
    copy: tuple[str, ...] = SEARCH.values(functools.partial(pattern, or_none=True))(f"""
        --copy PATTERN...: {COPIED}; a translation copies such spans of its source, through
        placeholders if the model was trained with cgru prep --copy, whose patterns are the default;
        none: copy nothing; sampling allows only none""")
    shortlist: tuple[str, ...] = EVERY_SEARCH.values(together=kinds.shortlist)("""
        --shortlist FILE [FIRST [BEST [PRUNE]]]: restrict the output to the FIRST words of the
        vocabulary and, for each source word, the BEST translations in FILE more probable than PRUNE
        (100 100 0 if not given); FILE is a table of lines `target source probability` (lex.s2t),
        .gz too, or a binary shortlist of Marian""")

    output_sampling: str | None = SAMPLING.values(
        unchanged(sampling), implied="full 1.0", joined=True
    )("""
        --output-sampling KIND [VALUE] [T]: sample translations from all words (full), from the K
        most probable (topk K), from the most probable with total probability P (nucleus P), or from
        those with at least probability E (epsilon E), with softmax temperature T""")
    seed: int = SAMPLING.whole(
        0, 2**63 - 1, default=0, needs="--output-sampling or --mbr", excludes="--mbr-n-best"
    )("""
        --seed N: random seed of sampling; each sample depends only on the seed and its line
        number""")

    mbr: int | None = RISK.whole(
        1,
        1000,
        excludes=("--beam-size", "--channel-model", "--split-sentences"),
        applies_to=Scope.DECODER,
    )("""
        --mbr N: minimum Bayes risk: of N sampled translations (by default epsilon 0.02), print the
        one most similar to all others; the totals of --n-best are mean similarities, from 0 to
        100""")
    mbr_utility: str = RISK.choice("chrf", "bleu", default="chrf", needs="--mbr")("""
        --mbr-utility: similarity of two translations: sentence chrF or BLEU of sacreBLEU""")
    mbr_n_best: bool = RISK.values(
        needs="--mbr", excludes="--output-sampling", applies_to=Scope.OWN_SEARCH
    )("""
        --mbr-n-best: choose from the N hypotheses of a beam search, weighted by their
        probabilities, instead of samples""")

    channel_model: str | None = CHANNEL.values(
        excludes="--output-sampling", applies_to=Scope.DECODER
    )("""
        --channel-model MODEL: translation model of the reverse direction: rank translations y of x
        by the sum, weighted by --weights, of log p(y|x), log p(x|y) by this model and, if --lm is
        given, log p(y) by it""")
    lm: str | None = CHANNEL.values(needs="--channel-model")("""
        --lm MODEL (--lm-model): language model of the target language: recurrent, or n-gram (in
        ARPA or KenLM's format)""")
    channel_candidates: int | None = CHANNEL.whole(
        1, 1000, needs=("--channel-model", "--lm"), applies_to=Scope.OWN_SEARCH
    )("""
        --channel-candidates N (--k2): rank in every step of the beam search, among the N most
        probable continuations of each hypothesis; if not given, only the finished hypotheses are
        ranked""")

    unk_replace: bool = WORDS.values(applies_to=Scope.DECODER | Scope.ATTENTION | Scope.CALL)("""
        --unk-replace: replace each unknown word with the source word aligned to it""")
    lexicon: str | None = WORDS.values(needs="--unk-replace")("""
        --lexicon FILE: translate the source words inserted by --unk-replace with this dictionary of
        lines `source target [probability]` (`target source probability` in a file .s2t)""")
    join_bpe: bool = WORDS.values(applies_to=Scope.DECODER)(
        "--join-bpe: join sub-words that end in `@@`"
    )
    no_spm_decode: bool = WORDS.values(applies_to=Scope.DECODER)("""
        --no-spm-decode: print SentencePiece pieces instead of joining them""")

    output_alignment: str | None = ATTENTION.values(
        excludes=("--alignment-format marian", "--alignment-format amun"),
        applies_to=Scope.ATTENTION,
    )("""
        --output-alignment FILE (-a): write the attention to this file instead of the output
        (formats nematus and json)""")

    mini_batch: int | None = BATCHES.whole(1, 1_000_000)("""
        --mini-batch N (--minibatch_size --batch_size): lines translated together""")
    maxi_batch: int | None = BATCHES.whole(1, 1_000_000)("""
        --maxi-batch N (--maxibatch_size): number of mini-batches to read ahead and sort by length
        together""")
    maxi_batch_sort: str = BATCHES.choice("src", "none", default="src")("""
        --maxi-batch-sort: sort the lines of a maxi-batch by source length, or not at all""")
