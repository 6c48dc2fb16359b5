"""Training on several devices and in several processes equals training on one device."""

import re
import time
from pathlib import Path

import numpy as np
import pytest
import runs
from patience import PATIENCE
from runs import PLAIN, SIZES, arrays, process, records, trained
from selection import choice

from cgru_cli.optimization.replicas import Replicas

pytestmark = pytest.mark.long

DROPOUT = ("--dropout-embedding", "0.2", "--dropout-hidden", "0.2", "--dropout-source", "0.1")
TWENTY = (
    *PLAIN,
    *"--after 20u --valid-freq 7u --valid-metrics cross-entropy -o sgd -l 0.03".split(),
    *"--clip-norm 2 --exponential-smoothing 0.1".split(),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """61 pairs in batches of 8: the last batch of an epoch has only 5 pairs."""
    return runs.prepared(tmp_path_factory.mktemp("data"), pairs=61)


def ended(processes):
    """Return codes and messages of processes, all within PATIENCE."""
    until = time.monotonic() + PATIENCE
    found = []
    for one in processes:
        _, messages = one.communicate(timeout=max(1.0, until - time.monotonic()))
        found.append((one.returncode, messages))
    return found


def same_training(model, expected, rtol=1e-6):
    """Asserts that two trainings have equal states, except for the rounding of sums."""
    found, expected = (arrays(f"{path}.state.npz") for path in (model, expected))
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        if array.dtype == np.float32 and array.size:
            distance = np.linalg.norm(found[name] - array)
            assert distance <= rtol * max(np.linalg.norm(array), 1e-3), name


# -- what one process has --------------------------------------------------------------------------


def test_one_device_shares_nothing():
    one = Replicas()
    assert (one.count, one.here, one.processes, one.first, str(one)) == (1, 1, 1, 0, "")
    assert one.is_first
    assert one.all_sum([1.0, 2.0]) == [1.0, 2.0]
    assert one.all_gather("text") == ["text"] and one.broadcast({"a": [1]}) == {"a": [1]}
    np.testing.assert_array_equal(one.broadcast_arrays({"x": np.ones(2)})["x"], np.ones(2))
    assert one.run_in_all(lambda: 5) == 5


# -- several devices -------------------------------------------------------------------------------


DELAYED = (*DROPOUT, "--optimizer-delay", "2")


@pytest.mark.parametrize(
    "more", [DELAYED, pytest.param((*DELAYED, "--jit", "on"), marks=pytest.mark.exhaustive)]
)
def test_two_devices_train_as_one(data, tmp_path, more):
    """For two epochs, in one process, with dropout masks of the whole batch."""
    one, two = tmp_path / "one" / "m.npz", tmp_path / "two" / "m.npz"
    trained(data, "-m", one, *TWENTY, *more)
    ((code, messages),) = ended(
        [process(data, "-m", two, *TWENTY, *more, "--devices", "cpu:0", "cpu:1")]
    )
    assert code == 0, messages
    assert "2 devices" in messages
    same_training(two, one)
    costs = [[entry["value"] for entry in records(model, "valid")] for model in (one, two)]
    assert len(costs[0]) == 2 and costs[1] == pytest.approx(costs[0], rel=1e-5)


OF_TYPES = {
    "cgru": ("--cell", "gru"),
    "classifier": ("--type", "classifier", "--pooling", "attention"),
    "tagger": ("--type", "tagger", "--enc-type", "bidirectional"),
    "crf": ("--type", "tagger", "--crf"),
    "label": ("--type", "lm", "--condition"),
    "vector": ("--type", "lm", "--condition"),
    "encdec": ("--type", "encdec", "--no-feedback"),
    "seq2seq": ("--type", "seq2seq", "--no-feedback", "--enc-type", "reversed"),
}


@pytest.fixture(scope="module")
def texts(data):
    """Files and vocabularies of each type; source and target have the same number of words."""
    source = data / "train.src", data / "vocab.src.json"
    target = data / "train.trg", data / "vocab.trg.json"
    labels = runs.lines(data / "labels", ["AB"[i % 2] for i in range(61)]), data / "labels.json"
    runs.vocabulary(labels[1], ["A", "B"])
    np.save(data / "vectors.npy", np.random.default_rng(3).normal(size=(61, 3)))
    of_types = {
        "classifier": (source, labels),
        "label": (labels, target),
        "vector": ((data / "vectors.npy", None), target),
    }

    def options(kind):
        files, vocabularies = zip(*of_types.get(kind, (source, target)), strict=True)
        return ("-t", *files, "-v", *filter(None, vocabularies))

    return options


@pytest.mark.parametrize(
    "kind",
    [
        kind if kind == "tagger" else pytest.param(kind, marks=pytest.mark.exhaustive)
        for kind in OF_TYPES
    ],
)
def test_two_devices_train_every_type_as_one(texts, tmp_path, kind):
    one, two = tmp_path / "one" / "m.npz", tmp_path / "two" / "m.npz"
    given = (
        *texts(kind),
        *SIZES,
        "--cell",
        "tanh",
        *OF_TYPES[kind],
        *"--dropout-hidden 0.2 --after 10u --valid-freq 0 -o sgd -l 0.3 --clip-norm 2".split(),
    )
    both = process("-m", two, *given, "--devices", "cpu:0", "cpu:1")
    trained("-m", one, *given)
    ((code, messages),) = ended([both])
    assert code == 0, messages
    same_training(two, one, rtol=1e-5)


def test_minimum_risk_on_two_devices(data, tmp_path):
    options = (
        data,
        *"--objective mrt --mrt-samples 5 --mrt-alpha 0.1".split(),
        *PLAIN,
        *"--after 4u --valid-freq 0 -o sgd -l 0.3".split(),
    )
    one, two = tmp_path / "one" / "m.npz", tmp_path / "two" / "m.npz"
    trained(*options, "-m", one)
    ((code, messages),) = ended([process(*options, "-m", two, "--devices", "cpu:0", "cpu:1")])
    assert code == 0, messages
    same_training(two, one, rtol=1e-5)


# -- several processes -----------------------------------------------------------------------------


def test_two_workers_train_as_one(data, tmp_path):
    one, two = tmp_path / "one" / "m.npz", tmp_path / "two" / "m.npz"
    trained(data, "-m", one, *TWENTY)
    (first, said), (second, silent) = ended(runs.workers(2, data, "-m", two, *TWENTY))
    assert (first, second) == (0, 0), said + silent
    assert "2 devices of 2 workers" in said and not silent
    same_training(two, one)
    assert sorted(p.name for p in two.parent.iterdir()) == sorted(
        p.name for p in one.parent.iterdir()
    )


LONG = (
    *SIZES,
    *"--type lm --cell tanh --dropout-hidden 0.2 --dropout-target 0.1 --after 80u".split(),
    *"--save-freq 10u --valid-freq 40u --valid-metrics cross-entropy --disp-freq 10u".split(),
)


def killed_in_the_midst(both, victim, log, update):
    """Kill one of two workers when an update is logged; how both ended."""
    while all(one.poll() is None for one in both):
        if log.exists() and f"Up. {update} " in log.read_text():
            both[victim].kill()
            break
        time.sleep(0.002)
    begun = time.monotonic()
    results = ended(both)
    assert time.monotonic() - begun < 60
    return results


@pytest.mark.parametrize("updates", choice([[20], [20, 50]], [20]))
def test_a_killed_worker_ends_all_and_costs_nothing(data, tmp_path, updates):
    """The other one reports it; a resumed training ends bit-exactly as an undisturbed one."""
    undisturbed, model = tmp_path / "undisturbed.npz", tmp_path / "m.npz"
    for code, messages in ended(runs.workers(2, data, "-m", undisturbed, *LONG)):
        assert code == 0, messages
    log = Path(f"{model}.log")
    for victim, update in enumerate(updates):
        both = runs.workers(2, data, "-m", model, *LONG)
        results = killed_in_the_midst(both, victim, log, update)
        code, messages = results[1 - victim]
        assert code == 1 and "Training finished" not in messages
        last = messages.splitlines()[-1]
        assert re.fullmatch(rf"cgru: worker {victim} \(localhost:\d+\) has ended; .*", last)
    for code, messages in ended(runs.workers(2, data, "-m", model, *LONG)):
        assert code == 0, messages
    assert model.read_bytes() == undisturbed.read_bytes()
    assert log.read_text().count("Resuming after update") == len(updates)


@pytest.mark.parametrize(
    ("only", "message"),
    [
        (["--seed", "5"], "differs from worker 0: --seed is 5, not 1"),
        (["--train-sets", "OTHER", "DATA/train.trg"], "worker 0: training text is "),
        (["--train-sets", "DATA/none", "DATA/train.trg"], "DATA/none: No such file"),
    ],
)
def test_workers_that_differ_say_so_and_end(data, tmp_path, only, message):
    other = runs.lines(tmp_path / "other", (data / "train.src").read_text().splitlines()[::-1])
    only = [x.replace("DATA", str(data)).replace("OTHER", str(other)) for x in only]
    results = ended(runs.workers(2, data, "-m", tmp_path / "m.npz", *TWENTY, only={1: only}))
    for index, (code, messages) in enumerate(results):
        (line,) = messages.splitlines()
        assert code == 1 and message.replace("DATA", str(data)) in line
        assert index == 1 or re.match(r"cgru: worker 1 \(localhost:\d+\)", line)


def test_a_signal_to_one_stops_all(data, tmp_path):
    """After the same update, saved."""
    model = tmp_path / "m.npz"
    both = runs.workers(2, data, "-m", model, *LONG)
    log = Path(f"{model}.log")
    while all(one.poll() is None for one in both):
        if log.exists() and "Up. 30 " in log.read_text():
            both[1].terminate()
            break
        time.sleep(0.002)
    results = ended(both)
    assert [code for code, _ in results] == [143, 143]
    (updates,) = re.findall(r"Stopped after update (\d+); saved", results[0][1])
    assert int(arrays(f"{model}.state.npz")["updates"]) == int(updates)
