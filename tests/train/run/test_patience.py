"""Stalled validations and stops, in series computed by hand."""

import dataclasses
import json
import math

import pytest
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.options.train import LOWER_IS_BETTER, TrainOptions
from cgru_cli.system.typed_json import dataclass_from_json
from cgru_cli.train.run.patience import Patience, Record, SavedPatience

RESETS = {"nothing": {}, "stalled": {"valid_reset_stalled": True}, "all": {"valid_reset_all": True}}


def patience_of(metrics, **options):
    return Patience(metrics, TrainOptions(**options))


def follow(patience, metric, values):
    """(new best, stalled, stop) after each value."""
    seen = []
    for i, value in enumerate(values):
        best = patience.update(metric, value, 100 * (i + 1))
        seen.append((best, patience.records[metric].stalled, patience.stop()))
    return seen


@pytest.mark.parametrize("metric", ["cross-entropy", "ce-mean-words", "perplexity"])
def test_lower_is_better(metric):
    patience = patience_of([metric], early_stopping=3)
    assert follow(patience, metric, [9.0, 7.0, 7.0, 8.0, 6.5, 7.0, 7.5, 6.5]) == [
        (True, 0, False),
        (True, 0, False),
        (False, 1, False),  # an equal value is not a new best
        (False, 2, False),
        (True, 0, False),
        (False, 1, False),
        (False, 2, False),
        (False, 3, True),
    ]
    assert patience.records[metric] == Record(metric, 6.5, 500, 3)


@pytest.mark.parametrize("metric", ["bleu", "chrf", "translation"])
def test_higher_is_better(metric):
    patience = patience_of([metric], early_stopping=2)
    assert follow(patience, metric, [0.0, 12.5, 12.4, 12.6, 1.0, 2.0]) == [
        (True, 0, False),
        (True, 0, False),
        (False, 1, False),
        (True, 0, False),
        (False, 1, False),
        (False, 2, True),
    ]


@each_row("metric", LOWER_IS_BETTER)
def test_values_that_are_not_finite_are_never_best(metric):
    patience = patience_of([metric])
    expected = [(False, i + 1, False) for i in range(3)]
    assert follow(patience, metric, [math.nan, math.inf, -math.inf]) == expected
    assert patience.records[metric].best is None
    assert patience.update(metric, 3.0, 400)
    assert not patience.update(metric, math.nan, 500)
    assert patience.records[metric].best == 3.0


SERIES = {"perplexity": [5, 4, 4, 4, 4, 4], "bleu": [1, 2, 3, 3, 4, 4], "chrf": [1, 1, 1, 1, 2, 2]}
#          stalled       0  0  1  2  3  4             0  0  0  1  0  1           0  1  2  3  0  1


@pytest.mark.parametrize(
    "on, stalled",
    [("first", [0, 0, 1, 2, 3, 4]), ("any", [0, 1, 2, 3, 3, 4]), ("all", [0, 0, 0, 1, 0, 1])],
)
def test_several_metrics(on, stalled):
    patience = patience_of(list(SERIES), early_stopping=3, early_stopping_on=on)
    seen = []
    for i in range(6):
        for metric, values in SERIES.items():
            patience.update(metric, values[i], i)
        seen.append(patience.stalled)
        assert patience.stop() is (stalled[i] >= 3)
    assert seen == stalled


def test_no_early_stopping():
    patience = patience_of(["bleu"], early_stopping=0)
    assert not any(stop for _, _, stop in follow(patience, "bleu", [3.0] * 50))


def test_nothing_to_validate():
    assert patience_of([]).stop() is False


@pytest.mark.parametrize("after, expected", [(1, 5), (2, 2), (3, 1)])
def test_decays(after, expected):
    """The first metric stalls 3 and 2 times in a row; the second does not count."""
    patience = patience_of(["bleu", "chrf"], lr_decay=0.5, lr_decay_start=(after,))
    for i, value in enumerate([5, 5, 4, 3, 6, 6, 6]):
        patience.update("bleu", value, i)
        patience.update("chrf", 1.0, i)
    assert patience.decays == expected


@pytest.mark.parametrize("stop_at", range(6))
def test_resuming_changes_nothing(stop_at):
    whole = patience_of(list(SERIES), early_stopping=3, lr_decay=0.5, lr_decay_start=(2,))
    cut = patience_of(list(SERIES), early_stopping=3, lr_decay=0.5, lr_decay_start=(2,))
    for i in range(6):
        if i == stop_at:
            saved = json.loads(json.dumps(dataclasses.asdict(cut.saved()), allow_nan=False))
            cut = patience_of(list(SERIES), early_stopping=3, lr_decay=0.5, lr_decay_start=(2,))
            cut.restore(dataclass_from_json(SavedPatience, saved, "state.json"))
        for metric, values in SERIES.items():
            assert whole.update(metric, values[i], i) == cut.update(metric, values[i], i)
    assert whole.saved() == cut.saved()


def test_improvements_must_exceed_epsilon():
    """Marian 1.12 logs so with `--early-stopping-epsilon 0.2 1000`: every new best counts."""
    values = {
        "ce-mean-words": [6.42249, 6.10524, 5.88577, 5.84808, 5.75059, 5.65267],
        "perplexity": [615.531, 448.199, 359.88, 346.568, 314.377, 285.051],
    }
    patience = patience_of(list(values), early_stopping_epsilon=(0.2, 1000.0))
    stalled = {"ce-mean-words": [0, 0, 0, 1, 2, 3], "perplexity": [0, 1, 2, 3, 4, 5]}
    for metric, numbers in values.items():
        for update, (value, expected) in enumerate(zip(numbers, stalled[metric], strict=True)):
            assert patience.update(metric, value, update)
            assert patience.records[metric] == Record(metric, value, update, expected)


@pytest.mark.parametrize(
    ("resets", "stalled", "best"), [("nothing", 2, 5.0), ("stalled", 0, 5.0), ("all", 0, None)]
)
def test_what_resuming_resets(resets, stalled, best):
    """As with Marian's --valid-reset-stalled and --valid-reset-all."""
    ended = patience_of(["perplexity", "bleu"], early_stopping=2)
    for metric, values in (("perplexity", [5.0, 6.0, 7.0]), ("bleu", [30.0, 20.0])):
        follow(ended, metric, values)
    assert ended.stop()
    again = patience_of(["perplexity", "bleu"], early_stopping=2, **RESETS[resets])
    again.resume(ended.saved())
    assert (again.stalled, again.most_stalled, again.decays) == (stalled, stalled, ended.decays)
    assert [record.best for record in again.records.values()] == [best, best and 30.0]
    assert again.stop() == (resets == "nothing")
    assert again.update("perplexity", 5.5, 900) == (resets == "all")
    again.restore(ended.saved())  # as workers do
    assert again.saved() == ended.saved()


def test_fields_that_older_files_lack_have_defaults():
    saved = dataclasses.asdict(patience_of(["bleu"]).saved())
    del saved["most_stalled"]
    assert dataclass_from_json(SavedPatience, saved, "state.json").most_stalled == 0


@pytest.mark.parametrize(("resets", "kept"), [("nothing", 2), ("stalled", 2), ("all", None)])
def test_metrics_that_are_not_measured_for_a_while_keep_their_best(resets, kept):
    first = patience_of(["bleu", "chrf"])
    follow(first, "bleu", [2, 1])
    without = patience_of(["chrf"], **RESETS[resets])
    without.resume(first.saved())
    assert not without.stalled
    again = patience_of(["bleu"])
    again.restore(without.saved())
    assert again.records["bleu"].best == kept
    assert again.records["bleu"].stalled == (1 if resets == "nothing" else 0)


def test_metrics_may_change():
    before = patience_of(["bleu", "perplexity"])
    before.update("bleu", 7.0, 10)
    before.update("perplexity", 9.0, 10)
    after = patience_of(["chrf", "bleu"])
    after.restore(before.saved())
    assert list(after.records.values()) == [Record("chrf"), Record("bleu", 7.0, 10, 0)]


RECORD = {"metric": "bleu", "best": 1.0, "best_update": 1, "stalled": 0}


@each_row(
    "data",
    [
        None,
        [],
        {},
        {"decays": 1},
        {"decays": -1, "metrics": []},
        {"decays": 0, "metrics": 3},
        *(
            {"decays": 0, "metrics": [RECORD | change]}
            for change in (
                {"best": "1"},
                {"best": math.nan},
                {"stalled": -1},
                {"stalled": 1.5},
                {"best_update": None},
                {"metric": 3},
                {"more": 1},
            )
        ),
    ],
)
def test_damaged_states(data):
    with pytest.raises(CgruError, match=r"^run/state\.json: damaged: "):
        dataclass_from_json(SavedPatience, data, "run/state.json")
