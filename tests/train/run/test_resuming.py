"""What a training goes on with: what was saved, but what its validation begins anew with."""

import dataclasses
import json
from types import SimpleNamespace

import pytest

from cgru_cli.train.run.patience import Patience
from cgru_cli.train.run.resuming import resume
from cgru_cli.train.run.state import Course, SavedRun

ALONE = SimpleNamespace(
    is_first=True, processes=1, run_in_all=lambda action: action(), broadcast=lambda value: value
)


@pytest.mark.parametrize(("resets", "stalled"), [("nothing", 1), ("stalled", 0), ("all", 0)])
def test_a_training_goes_on_with_its_patience_but_what_that_resets(resets, stalled):
    ended = Patience(["bleu"])
    for value in (30.0, 20.0):
        ended.update("bleu", value, 7)
    saved = SavedRun.of(Course(), ended, {"seed": 1}, True)
    values = json.loads(json.dumps(dataclasses.asdict(saved)))
    restored = []
    patience = Patience(["bleu"], resets=resets)
    resumed = resume(
        SimpleNamespace(state="run", load=lambda: ({"w": 1}, values)), {"seed": 1}, patience, ALONE,
        jit=None, is_faster_compiled=lambda: False,
        make_step=lambda _jit: SimpleNamespace(restore=restored.append),
    )  # fmt: skip
    assert resumed.jit and restored == [{"w": 1}] and resumed.course == Course()
    assert patience.records["bleu"].stalled == stalled
    assert patience.records["bleu"].best == (None if resets == "all" else 30.0)
