"""The plan that the options of a training run make."""

import dataclasses

import pytest
from tables import each_row

from cgru_cli.errors import UsageError
from cgru_cli.options.flags import flag
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.structure import Type
from cgru_cli.train.data_defaults import OF_VALIDATION, Facts
from cgru_cli.train.plan import Request, TrainingPlan, resolve
from cgru_cli.train.run.folder import Recorded
from cgru_cli.train.run.patience import Patience
from cgru_cli.train.run.progress import Frequency, Progress


def plan(can_validate=True, explicit=(), **options):
    request = Request(TrainOptions(**options))
    TrainingPlan(request.options, can_validate).check(explicit)
    return resolve(request, None, FACTS, can_validate=can_validate)


FACTS = Facts(pairs=100, words=900, kind=Type.CGRU, state=8, one_vocabulary=False)


def test_options_are_decided_once():
    """As given, else as the run began, else for the data."""
    request = Request(TrainOptions(dim_rnn=9), {"dim_rnn"})
    begun = Recorded({"learn_rate": 0.5, "dim_emb": 7}, {"dim_rnn": 5, "valid_freq": "2e"})
    new = resolve(request, None, FACTS, can_validate=True)
    assert (new.options.dim_rnn, new.options.dim_emb, new.options.learn_rate) == (9, 4, 0.003)
    assert new.recorded.stated == {"dim_rnn": 9} and new.added[0].startswith("Chosen for 100 pairs")
    resumed = resolve(request, begun, FACTS, can_validate=True)
    assert (resumed.options.dim_rnn, resumed.options.dim_emb, resumed.valid.every) == (9, 7, 2)
    assert resumed.recorded is begun and not resumed.added


@each_row("recorded", [None, Recorded({}, {"lr_warmup": "0"})])
def test_what_an_option_needs_is_known_in_the_end(recorded):
    """Without Adam no warm-up is chosen, nor has a run that began without it."""
    options = TrainOptions(lr_warmup_start_rate=0.1, optimizer="sgd")
    request = Request(options, {"lr_warmup_start_rate", "optimizer"})
    with pytest.raises(UsageError, match="--lr-warmup-start-rate needs --lr-warmup"):
        resolve(request, recorded, FACTS, can_validate=True)


def test_values_with_which_a_run_began_may_contradict_new_options():
    begun = Recorded({}, {"valid_freq": "0"})
    with pytest.raises(UsageError, match="nothing would end this training"):
        resolve(Request(TrainOptions(), set()), begun, FACTS, can_validate=True)


def test_defaults():
    made = plan()
    assert made.metrics == ("cross-entropy", "bleu")
    assert made.valid == Frequency(1, "e")
    assert made.save == (Frequency(1, "e"), Frequency(30, "m"))
    assert made.display == Frequency(1000, "u")
    assert made.after == ()
    assert made.schedule.at(Progress()) == 1e-4


def test_one_bit_has_levels_only_as_powers():
    assert plan(quantize_bits=1, quantize_log_based=True)
    assert plan(quantize_bits=2)
    with pytest.raises(UsageError, match=r"^--quantize-bits 1: 0 would be the only level"):
        plan(quantize_bits=1)


def test_limits():
    made = plan(after="10u,3e", after_epochs=2)
    assert set(made.after) == {Frequency(10, "u"), Frequency(3, "e"), Frequency(2, "e")}


def test_without_text_there_is_no_metric():
    assert plan(can_validate=False, after="1e").metrics == ()
    assert plan(after="1e", valid_freq="0").metrics == ()


@each_row(
    ("name", "value"),
    [
        ("valid_beam_size", 2),
        ("valid_lines", 9),
        ("valid_max_length", 9),
        ("valid_mini_batch", 32),
    ],
)
def test_options_of_validation_need_text(name, value):
    """Old command lines and dumps of all options go on running without it."""
    options = {"can_validate": False, "after": "1e", "explicit": {name}}
    for defaults in ("data", "fixed"):
        with pytest.raises(UsageError, match=f"^{flag(TrainOptions, name)}: there is no text"):
            plan(**options, **{name: value}, defaults=defaults)
    assert plan(**options, **{name: value}, compat="marian")
    assert plan(**options | {"explicit": None}, **{name: value})  # of a file of Marian
    assert plan(**options)
    for known in (getattr(TrainOptions, name), OF_VALIDATION.get(name)):
        if known is not None:
            assert plan(**options, **{name: known})


def test_a_script_is_a_metric():
    assert plan(valid_script="score").metrics == ("cross-entropy", "bleu", "translation")
    assert plan(valid_script="s", valid_metrics=("valid-script",)).metrics == ("valid-script",)
    assert plan(valid_script="s", type="lm", valid_metrics=("valid-script",)).metrics
    asked = plan(valid_script="score", valid_metrics=("translation", "chrf"))
    assert asked.metrics == ("translation", "chrf")


def test_mini_batches_grow_within_epochs_except_in_marian():
    now = Progress(epochs=1, share=0.5, words=25)
    assert plan(mini_batch_warmup="2e").batch_share(now) == 0.75
    assert plan(mini_batch_warmup="2e", compat="marian").batch_share(now) == 0.5
    assert plan(mini_batch_warmup="100t").batch_share(now) == 0.5  # a square root
    assert plan().batch_share(now) == 1


def test_the_schedule_is_what_the_options_say():
    made = plan(
        learn_rate=0.01, lr_warmup="10u", lr_warmup_start_rate=0.002, lr_decay_inv_sqrt="20u"
    )
    assert made.schedule.at(Progress()) == 0.002
    assert made.schedule.at(Progress(updates=5)) == pytest.approx(0.006)
    assert made.schedule.at(Progress(updates=80)) == pytest.approx(0.005)
    steps = plan(
        learn_rate=0.01,
        lr_decay=0.5,
        lr_decay_strategy="batches",
        lr_decay_start=(4,),
        lr_decay_freq=2,
    ).schedule
    rates = [steps.at(Progress(updates=n)) for n in range(3, 8)]
    assert rates == pytest.approx([0.01, 0.005, 0.005, 0.0025, 0.0025])


def test_patience_is_what_the_options_say():
    options = TrainOptions(
        valid_metrics=("chrf", "perplexity"),
        early_stopping=2,
        early_stopping_on="all",
        lr_decay=0.5,
        lr_decay_start=(3,),
    )
    patience = Patience(TrainingPlan(options, True).metrics, options)
    for updates in range(3):
        patience.update("chrf", 1.0 - updates, updates)
    assert not patience.stop()
    for updates in range(3):
        patience.update("perplexity", 1.0 + updates, updates)
    assert patience.stop()
    assert patience.decays == 0
    patience.update("chrf", 0.0, 3)
    assert patience.decays == 1


LEAST = {
    "after_epochs": 0,
    "beam_size": 1,
    "clip_norm": 0.0,
    "decay_c": 0.0,
    "disp_first": 0,
    "early_stopping": 0,
    "keep": 0,
    "lr_decay_freq": 1,
    "lr_decay_start": (1,),
    "max_length": 1,
    "max_nan": 1,
    "maxi_batch": 1,
    "mini_batch": 1,
    "mini_batch_words": 0,
    "normalize": 0.0,
    "optimizer_delay": 1,
    "seed": 0,
    "valid_mini_batch": 1,
    "workspace": 1,
}


@each_row("name", LEAST)
def test_numbers_that_are_too_small(name):
    options = {"lr_decay": 0.5} if name.startswith("lr_decay_") else {}
    options |= {"mini_batch_fit": True} if name == "workspace" else {}
    least = LEAST[name]
    plan(**options, **{name: least})
    several = isinstance(least, tuple)
    number = least[0] if several else least
    with pytest.raises(UsageError, match=f"^--{name.replace('_', '-')} .* from {number:g} "):
        plan(**options, **{name: (number - 1,) if several else number - 1})


@each_row(
    "field", [f.name for f in dataclasses.fields(TrainOptions) if f.name.startswith("dropout_")]
)
@each_row("value", [-0.1, 1.0, 2.0])
def test_shares(field, value):
    with pytest.raises(UsageError, match=f"^--{field.replace('_', '-')} .* from 0 to below 1"):
        plan(**{field: value})


@each_row(
    ("options", "message"),
    [
        ({"can_validate": False}, "nothing would end this training"),
        ({"can_validate": False, "after": "0"}, "nothing would end this training"),
        ({"valid_freq": "0"}, "nothing would end this training"),
        ({"mini_batch_fit": True, "mini_batch_words": 9}, "exclude each other"),
        ({"objective": "mrt", "log_gradients": True}, "exclude each other"),
        ({"lr_decay_start": 2}, "--lr-decay-start needs --lr-decay"),
        ({"lr_decay_strategy": "epoch"}, "--lr-decay-strategy needs --lr-decay"),
        ({"lr_warmup_start_rate": 0.1}, "--lr-warmup-start-rate needs --lr-warmup"),
        (
            {"lr_decay": 0.5, "lr_decay_freq": 2},
            "^--lr-decay-freq needs --lr-decay-strategy",
        ),
        ({"lr_decay": 0.5, "valid_freq": "0", "after": "1e"}, "`stalled` needs validation"),
        ({"lr_warmup": "10m"}, "^--lr-warmup 10m: .* not reproducible"),
        ({"mini_batch_warmup": "10m"}, "^--mini-batch-warmup 10m: .* not reproducible"),
        ({"learn_rate": -1.0}, "--learn-rate -1.0: a number from 0"),
        ({"learn_rate": float("nan")}, "--learn-rate nan: a number from 0"),
        ({"lr_decay": -0.5}, "--lr-decay -0.5: a number from 0"),
        (
            {"lr_warmup": "5u", "lr_warmup_start_rate": -1.0},
            "--lr-warmup-start-rate -1.0: a number from 0",
        ),
        ({"throw_on_divergence": (9, 0.5)}, "^--throw-on-divergence 9 0.5: at most three"),
        ({"throw_on_divergence": (9, 2, 1, 1)}, "^--throw-on-divergence 9 2 1 1: at most three"),
        ({"after": "ten"}, "^--after ten: not understood"),
        ({"valid_freq": "1x"}, "^--valid-freq 1x: not understood"),
        ({"save_freq": "-1"}, "^--save-freq -1: not understood"),
        ({"disp_freq": "1.5u"}, "^--disp-freq 1.5u: not a whole number"),
        ({"valid_metrics": ("translation",)}, "needs --valid-script-path"),
        ({"can_validate": False, "after": "1e", "valid_metrics": ("bleu",)}, "--valid-metrics: th"),
        ({"can_validate": False, "after": "1e", "valid_script": "s"}, "^--valid-script-path: th"),
        ({"label_smoothing": 1.0}, "--label-smoothing 1.0: a number from 0 to below 1"),
        (
            {"exponential_smoothing": -0.1},
            "--exponential-smoothing -0.1: a number from 0 to below 1",
        ),
    ],
)
def test_options_that_contradict_each_other(options, message):
    with pytest.raises(UsageError, match=message):
        plan(**options)


def test_unknown_and_repeated_metrics():
    with pytest.raises(UsageError, match=r"^--valid-metrics blue: one of cross-entropy, "):
        plan(valid_metrics=("blue",))
    with pytest.raises(UsageError, match="named twice: bleu bleu"):
        plan(valid_metrics=("bleu", "bleu"))


def test_an_epsilon_for_each_metric():
    metrics = ("bleu", "perplexity", "chrf")
    made = plan(valid_metrics=metrics, early_stopping_epsilon=(0.5, 0.1, 0.2))
    assert Patience(made.metrics, made.options)
    with pytest.raises(UsageError, match="--early-stopping-epsilon: 2 numbers for 3 metrics"):
        plan(valid_metrics=metrics, early_stopping_epsilon=(0.5, 0.1))
