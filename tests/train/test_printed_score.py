"""Scores in the outputs of the programs that people call in validation scripts.

sacreBLEU's outputs are its own; the others are as in the programs' sources and in logs in public
repositories, named beside them.
"""

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.train.printed_score import score_in

MULTI_BLEU = "BLEU = 37.28, 71.3/47.0/32.0/22.4 (BP=0.947, ratio=0.948, hyp_len=12382, ref_len=9)\n"
OUTPUTS = {
    # Moses' multi-bleu.perl and multi-bleu-detok.perl
    MULTI_BLEU: 37.28,
    "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)\n": 0,
    # the echo of wmt16-scripts' validate.sh, and of zzzsss/nmt-try's _nematus_valid.sh
    "BLEU = 28.31\nnew best; saving\n": 28.31,
    f"Validating at ... Sat Nov 28 05:13:09 UTC 2026\nBLEU = 37.28 // {MULTI_BLEU}": 37.28,
    # marian-examples' validate.sh ends with sed, wmt17-scripts' with cut
    "28.31\n": 28.31,
    "28.31": 28.31,
    # mteval-v13a.pl and v14, with all that they print, and with -n
    'Evaluation of any-to-en translation using:\n    src set "x" (1 docs, 2999 segs)\n\n'
    'NIST score = 11.6247  BLEU score = 0.6525 for system "tst"\n\n# --\nIndividual N-grams\n'
    '  1-gram   2-gram   3-gram\n NIST:  8.5101   2.0123   0.5001  "tst"\n\n'
    ' BLEU:  0.8512   0.6101  "tst"\nMT evaluation scorer ended 2016 at 05:13:09\n': 0.6525,
    'NIST score = 6.2859 for system "tst"\n  NIST:  5.1  1.0  "tst"\n': 6.2859,
    # sacreBLEU 1.x, with the log of Joey NMT
    "2020-05-10 08:07:06,813 Hello! This is Joey-NMT.\nDetokenizer Version $Revision: 4134 $\n"
    "BLEU+case.mixed+numrefs.1+smooth.exp+tok.13a+version.1.4.9 = 8.7 40.1/13.6/5.3/2.2 "
    "(BP = 0.974 ratio = 0.974 hyp_len = 62473 ref_len = 64106)\n": 8.7,
    "chrF2+numchars.6+space.false+version.1.4.14 = 0.47\n": 0.47,
    "TER+tok.tercom-nonorm-punct-noasian-uncased+version.1.5.1 = 50.1\n": -50.1,
    # sacreBLEU from Python: str(BLEU().corpus_score(...)), and evaluate's dictionaries
    "BLEU = 10.24 40.3/16.4/6.3/2.6 (BP = 1.000 ratio = 1.159 hyp_len = 167 ref_len = 144)\n"
    "chrF2 = 37.15\nTER = 92.25\nchrF2++ = 35.85\n": 10.24,
    "{'score': 28.3, 'counts': [9, 5], 'totals': [11, 9], 'precisions': [81.8], 'bp': 1.0}\n": 28.3,
    "{'bleu': 0.283, 'precisions': [0.8, 0.6], 'brevity_penalty': 1.0}\n": 0.283,
    # fairseq-generate
    "| Translated 3003 sentences (96311 tokens) in 166.0s (580.04 tokens/s)\n"
    "| Generate test with beam=5: BLEU4 = 40.83, 67.5/46.9/34.4/25.5 (BP=1.000, ratio=1.006, "
    "syslen=83262, reflen=82787)\n": 40.83,
    # chrF++.py
    "start_time:\t1654328310\nc6+w2-F2\t35.2383\nc6+w2-avgF2\t35.6171\nend_time:\t16\n": 35.2383,
    # tercom, METEOR 1.5, COMET, BEER
    "Total TER: 0.5312 (123.0/231.5)\nNumber of calls to beam search: 250\n"
    "Number of segments scored: 25\nNumber of shifts tried: 28\n": -0.5312,
    "Total TER: 0.53 (123.00 / 231.50)\n": -0.53,
    "Meteor version: 1.5\nParameters: 0.85 0.2 0.6 0.75\nSegment 1 score:\t0.51\n\n"
    "Precision:               0.52\nf1:                      0.51\nfMean:                   0.5\n"
    "Fragmentation penalty:   0.1\n\nFinal score:             0.2714\n": 0.2714,
    "x.txt\tsegment 0\tscore: 0.9\nx.txt\tSegment 1\tscore: 0\nx.txt\tscore: 0.8312\n": 0.8312,
    "Score: 0.8312\n": 0.8312,
    "total BEER 0.1234\n": 0.1234,
    # costs and error rates: lower is better
    "WER: 20.1 (5 / 25)\n": -20.1,
    "perplexity = 7.25\n": -7.25,
    "loss: 3.1, BLEU: 28.3\n": 28.3,
    # several lines: of several scores of a metric the last; a number alone on the last line
    f"dev1: {MULTI_BLEU}dev2: BLEU = 20.5, 60.1/30.2 (BP=1.000)\n": 20.5,
    f"{MULTI_BLEU}20.5 %\n": 20.5,
    "2000 lines in 12 s\n28.31 of 100%\n": None,
    "2000 lines, 12 s\nthe score is 28.31.\n": 28.31,
    "newstest2016 2.6.0 05:13 1/2 -0.5e1\n\n": -5,
    # refused
    "28.31 0.97\n": None,
    "P = 0.5, R = 0.6\n": None,
    "BLEU = 28,31\n": None,
    "nan\n": None,
    "": None,
}


def score(output, first=False):
    """The score, or None if the output has none."""
    with contextlib.suppress(CgruError):
        return score_in(output, "validate.sh", first)


def test_outputs_of_programs():
    wrong = {text: score(text) for text, value in OUTPUTS.items() if score(text) != value}
    assert not wrong


def test_outputs_of_sacrebleu(tmp_path):
    (tmp_path / "ref").write_text("the cat sat on a mat\nhello world how are we\n")
    (tmp_path / "hyp").write_text("the cat sat on the mat\nhello world how are you\n")
    scores = {
        "-f text": 59.4,
        "-b -w 4": 59.4217,
        "-m bleu chrf ter": 59.4,
        "-m bleu chrf ter -f text": 59.4,
        "-m bleu chrf ter -b": 59.4,
        "--confidence --confidence-n 20 -f text": 59.4,
        "-m chrf --chrf-word-order 2 -f text": 78.4,
        "-m ter -f text": -18.2,
    }
    for options, expected in scores.items():
        command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "hyp", *options.split()]
        result = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, check=True)
        assert score(result.stdout.decode()) == expected, options


def test_marian_and_nematus_read_the_number_at_the_beginning():
    for output, value in {
        "28.31 0.97 3\n": 28.31,
        " 28.31\n5 lines\n": 28.31,
        MULTI_BLEU: 37.28,  # neither reads this
        "7 TER: 5.5": 7,
    }.items():
        assert score(output, first=True) == value, output


@given(st.floats(-1e9, 1e9), st.text())
def test_a_number_alone_at_the_end(value, before):
    assert score(f"{before}\n{value!r}\n") == value


@given(st.text("BLEU=:.,-+e \n\t0123456789\"'[]{}|/TERscore"))
def test_any_output_has_a_score_or_a_message(output):
    try:
        assert isinstance(score_in(output, "x"), float)
    except CgruError as error:
        assert str(error).startswith("x: ")


def test_a_message_shows_the_line():
    for output, line in {"28.31 0.97\n": "28.31 0.97", "a\nnan\n": "nan", "": "no output"}.items():
        with pytest.raises(CgruError, match=f"^validate.sh: .*{line}"):
            score_in(output, "validate.sh")
