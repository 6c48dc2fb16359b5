"""`cgru train` with alignments and weights: effects, resuming, errors."""

import json
from pathlib import Path

import numpy as np
import pytest
import runs
from runs import ATTENTIVE, SIZES, records, train, trained

from cgru_cli.formats import read_model
from cgru_cli.network.network import Network

SHORT = ("--after", "6u", "-l", 0.01, "--valid-freq", 0)
LONG = (
    "--after 40u -l 0.02 --valid-freq 0 --dropout-hidden 0.1 --label-smoothing 0.1 "
    "--optimizer-delay 2 --disp-freq 1u"
).split()


def reversed_points(line):
    """The alignment of a target that is its source backwards."""
    words = len(line.split())
    return " ".join(f"{words - 1 - j}-{j}" for j in range(words))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A prepared folder, with alignments and weights."""
    folder = runs.prepared(tmp_path_factory.mktemp("data"))
    text = (folder / "train.src").read_text().splitlines()
    runs.lines(folder / "train.align", [reversed_points(line) for line in text])
    runs.lines(folder / "train.weights", [str(i % 3) for i in range(len(text))])
    runs.lines(folder / "train.ones", ["1" for _ in text])
    return folder


@pytest.fixture
def model(tmp_path):
    return tmp_path / "run" / "m.npz"


def beside(data):
    return (
        "--guided-alignment",
        data / "train.align",
        "--guided-alignment-weight",
        1,
        "--data-weighting",
        data / "train.weights",
    )


def alignment_cost(path, data):
    """The mean of -log attention on the right word, over the words of the dev set, in nats."""
    import tensorflow as tf
    from forced import force_decode

    read = read_model.read(str(path))
    network = Network(read.structure, {n: tf.constant(a) for n, a in read.arrays.items()})
    costs = []
    for line in (data / "dev.src").read_text().splitlines():
        words = [runs.WORDS.index(word) + 2 for word in line.split()]
        source = tf.constant([[*words, 0]])
        forced = force_decode(
            network, source, tf.ones(source.shape), tf.constant([[*words[::-1], 0]])
        )
        alpha = forced.alignment.numpy()[0]
        costs += [-np.log(alpha[j, len(words) - 1 - j]) for j in range(len(words))]
    return np.mean(costs)


@pytest.mark.long
def test_guided_attention_resumes_exactly(data, tmp_path):
    guided, plain, parts = (tmp_path / name / "m.npz" for name in ("guided", "plain", "parts"))
    result = trained(data, "-m", guided, *SIZES, *LONG, *beside(data))
    points = sum(len(line.split()) for line in (data / "train.src").read_text().splitlines())
    assert f", {points} points of alignment, weighted by sentences, " in result.messages
    trained(data, "-m", plain, *SIZES, *LONG, *beside(data)[4:])
    assert alignment_cost(guided, data) < 0.7 * alignment_cost(plain, data)

    trained(data, "-m", parts, *SIZES, *LONG, *beside(data), "--after", "13u")
    trained(data, "-m", parts, *SIZES, *LONG, *beside(data))
    assert parts.read_bytes() == guided.read_bytes()

    refused = train(data, "-m", parts, *SIZES, *LONG, *beside(data)[:4])
    assert refused.code == 1
    assert "other options or data: weights was " in refused.error and ", is none" in refused.error
    refused = train(data, "-m", plain, *SIZES, *LONG, *beside(data))
    assert "other options or data: alignments was none, is " in refused.error


@pytest.mark.long
def test_weights_of_1_change_no_bit(data, tmp_path):
    """Nor does a pair of files with weight 0, or guided attention with weight 0."""
    text = ["-t", data / "train.src", data / "dev.src", data / "train.trg", data / "dev.trg"]
    ones = ["--data-weighting", data / "train.ones", data / "left.out"]
    runs.lines(data / "left.out", [])
    given = {
        "plain": [],
        "ones": [*text, *ones, "--domain-weights", 1, 0],
        "guided by nothing": [*beside(data)[:3], 0],
    }
    models = {}
    for name, arguments in given.items():
        path = tmp_path / name / "m.npz"
        trained(data, "-m", path, *ATTENTIVE, *SHORT, *arguments)
        models[name] = path.read_bytes()
    assert set(models.values()) == {models["plain"]}


@pytest.mark.exhaustive
def test_compiled_it_costs_the_same(data, tmp_path):
    costs = []
    for jit in ("off", "on"):
        path = tmp_path / jit / "m.npz"
        words = ["--guided-alignment-cost", "mse", "--after", "1u", "--disp-first", 1]
        trained(data, "-m", path, *ATTENTIVE, *SHORT, *beside(data), *words, "--jit", jit)
        costs.append(records(path, "train")[0]["cost"])
    assert costs[0] == pytest.approx(costs[1], rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            "--guided-alignment BEYOND",
            1,
            "BEYOND: line 60: 0-7 points beyond the sentence: the",
        ),
        ("--guided-alignment MALFORMED", 1, "MALFORMED: line 60: '0:0' is not an alignment"),
        ("--guided-alignment FEWER", 1, "FEWER has 59 lines and DATA/train.trg 60; line i"),
        ("--guided-alignment none.align", 1, "none.align: No such file"),
        ("--data-weighting NEGATIVE", 1, "NEGATIVE: line 60: -1 is not a weight"),
        ("--data-weighting NAN", 1, "NAN: line 60: nan is not a weight; it must be finite"),
        ("--data-weighting TWO", 1, "TWO: line 60: 2 numbers; one is expected"),
        ("--data-weighting TWO --data-weighting-type word", 1, "weights for a target of"),
        ("--data-weighting FEWER", 1, "FEWER"),
        ("--guided-alignment DATA/train.align DATA/train.align", 2, "2 given; one is expected for"),
        ("--domain-weights 0", 2, "--domain-weights: not all may be 0"),
        (
            "--guided-alignment DATA/train.align --type seq2seq",
            2,
            "seq2seq has no attention to guide",
        ),
        (
            "--guided-alignment DATA/train.align --type encdec",
            2,
            "encdec has no attention to guide",
        ),
        ("--guided-alignment DATA/train.align --type lm", 2, "lm has no attention to guide"),
        ("--guided-alignment-weight 1", 2, "needs --guided-alignment"),
        ("--guided-alignment-cost mse", 2, "needs --guided-alignment"),
        ("--data-weighting-type word", 2, "needs --data-weighting"),
        ("--guided-alignment DATA/train.align --guided-alignment-weight -1", 2, "a number from 0"),
    ],
)
def test_one_clear_line_before_training_begins(data, tmp_path, model, arguments, code, message):
    last = {
        "BEYOND": "0-0 0-7",
        "MALFORMED": "0:0",
        "NEGATIVE": "-1",
        "NAN": "nan",
        "TWO": "1 1",
    }
    names = {"DATA": str(data), "FEWER": str(runs.lines(tmp_path / "fewer", ["1"] * 59))}
    for name, line in last.items():
        first = ["", "1"][name in ("NEGATIVE", "NAN", "TWO")]
        text = [first] * 59
        if name == "TWO" and "word" in arguments:
            text = ["1 " * len(t.split()) for t in (data / "train.trg").read_text().splitlines()]
            text, line = text[:59], "1 " * 9
        names[name] = str(runs.lines(tmp_path / name.lower(), [*text, line]))
    if "FEWER" in arguments and "alignment" in arguments:
        runs.lines(tmp_path / "fewer", [""] * 59)

    def named(text):
        for name, path in names.items():
            text = text.replace(name, path)
        return text

    result = train(data, "-m", model, *SIZES, *SHORT, *map(named, arguments.split()))
    assert result.code == code, result.messages
    assert named(message) in result.error
    assert not result.messages.startswith("[")  # the log's first line
    left = list(model.parent.glob("*")) if model.parent.exists() else []
    assert all(path.name in ("m.npz.lock", "m.npz.corpus") for path in left)


def test_marians_configuration_is_understood(data, model, tmp_path):
    """cgru reads Marian's keys, and its value for no alignment."""
    config = tmp_path / "c.json"
    config.write_text(
        json.dumps(
            {
                "guided-alignment": "none",
                "guided-alignment-cost": "ce",
                "guided-alignment-weight": 0.1,
                "data-weighting": str(data / "train.weights"),
                "data-weighting-type": "sentence",
            }
        )
    )
    shown = trained(data, "-m", model, *SIZES, *SHORT, "-c", config, "--dry-run").output
    assert ", weighted by sentences\n" in shown and "alignment" not in shown
    assert not Path(model).parent.exists()
