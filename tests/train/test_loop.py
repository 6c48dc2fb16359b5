"""The training loop with a simulated clock, and a step that computes nothing."""

import copy
import re
from types import SimpleNamespace

import pytest

from cgru_cli.options.train import TrainOptions
from cgru_cli.train.examples import Example
from cgru_cli.train.loop import FIRST_LINE, Training
from cgru_cli.train.plan import TrainingPlan
from cgru_cli.train.run import validation as run_validation
from cgru_cli.train.run.folder import RunFolder
from cgru_cli.train.run.forecast import Text
from cgru_cli.train.run.log import TrainingLog
from cgru_cli.train.run.other_workers import NoValidation
from cgru_cli.train.run.patience import Patience
from cgru_cli.train.run.reporter import Reporter
from cgru_cli.train.run.state import Course
from cgru_cli.train.run.validation import Validation

EXAMPLE = Example(SimpleNamespace(sentences=2, words=8), {})


class Examples:
    """Epochs of 100 batches."""

    corpus = range(200)

    def epoch(self, number, start):
        yield from [EXAMPLE] * (100 - start)


class Alone:
    """A single process."""

    processes, is_first = 1, True
    first, here, count = 0, 1, 1

    def all_sum(self, numbers):
        return list(numbers)

    def barrier(self):
        pass


@pytest.fixture
def run(tmp_path):
    """A function that trains, and returns the updates of saves and the lines of the log."""

    def train(
        *,
        update=1.0,
        validation=0.0,
        chosen=None,
        script=(),
        stop=SimpleNamespace(asked=False),  # noqa: B008
        resumed=None,
        **options,
    ):
        now = [0.0]
        saved, kept = [], []

        class Step:
            jit = False

            def update(self, batches, divisor, rate, size):
                now[0] += update
                return SimpleNamespace(applied=True, cost=1.0, norm=1.0)

            def weights(self):
                return {}

        class Validator:
            per_word = None

            def look(self, arrays, check):
                return self.run(arrays, 0, 0, check)

            def run(self, arrays, epoch, updates, check):
                for _ in range(100):
                    now[0] += validation / 100
                    check()
                return {"perplexity": 1.0}

        def save(course, patience, learnt, keep, again):
            saved.append(course.progress.updates)
            kept.append(keep)
            return True

        metrics = ("perplexity",) if validation else ()
        asked = TrainOptions(model="m.npz", valid_metrics=metrics, **options)
        plan = TrainingPlan(asked.replaced(**(chosen or {})), bool(validation), chosen or {})
        plan.check()
        log = TrainingLog(tmp_path / "log", tmp_path / "records", quiet=True)
        course, patience = Course(), Patience(plan.metrics, asked)
        if resumed:
            course = resumed.course
            patience.resume(resumed.patience)
        reporter = Reporter(log, SimpleNamespace(plan=plan, folder=None))
        saving = SimpleNamespace(
            save=save,
            resume=lambda *_: None,
            write=lambda path: None,
            folder=RunFolder(tmp_path / "m.npz"),
        )
        validates = Validation(Validator(), script, saving, reporter)
        Training(
            plan=plan,
            examples=Examples(),
            text=Text(200, 800),
            step=Step(),
            sampler=None,
            validation=validates if validation else NoValidation(),
            course=course,
            patience=patience,
            reporter=reporter,
            saving=saving,
            stop=stop,
            replicas=Alone(),
            clock=lambda: now[0],
        ).run()
        lines = [line.partition("] ")[2] for line in (tmp_path / "log").read_text().splitlines()]
        return SimpleNamespace(
            now=now[0],
            saved=saved,
            kept=kept,
            lines=lines,
            course=course,
            patience=patience.saved(),
        )

    return train


def test_limits_in_minutes_count_validation(run):
    """Updates take a second, validations a minute every 20 updates; --after 5m ends in time."""
    ended = run(validation=60.0, valid_freq="20u", after="5m", save_freq="0")
    assert 300 <= ended.now < 302
    assert ended.course.progress.seconds == pytest.approx(ended.now)
    assert ended.course.progress.updates == 80  # 80 + 3 * 60 seconds, and 40 of the fourth
    assert "Validation stopped: --after reached" in ended.lines
    assert ended.saved == [80] and ended.lines[-1] == "Training finished"


def test_a_validation_that_ends_within_the_limit_counts(run):
    ended = run(validation=59.0, valid_freq="20u", after="4m", save_freq="0")
    assert 240 <= ended.now < 242 and ended.course.progress.updates == 63
    assert sum("[valid]" in line for line in ended.lines) == 3


def test_a_save_that_becomes_due_during_validation_follows_it_once(run):
    ended = run(validation=60.0, valid_freq="20u", save_freq="1m", after="60u", early_stopping=0)
    assert ended.saved == [20, 40, 60, 60]  # the last save is that of the end


def test_a_save_at_least_every_half_hour_by_default(run):
    """An update takes a minute, and an epoch 100; an hour of the clock is saved twice."""
    ended = run(update=60.0, after="230u")
    assert ended.saved == [30, 60, 90, 100, 120, 150, 180, 200, 210, 230]


def validations(ended):
    """The updates of validations, and the shares of the time that were logged."""
    at = [line.split(" : ")[1] for line in ended.lines if line.startswith("[valid]")]
    took = [line for line in ended.lines if line.startswith("Validation took")]
    return [int(one.removeprefix("Up. ")) for one in at], took


def test_validation_takes_at_most_3_percent_of_the_time_by_default(run):
    """A validation of 12 seconds after 20 updates of a second; the next ones 400 seconds later."""
    ended = run(validation=12.0, chosen={"valid_freq": "20u"}, after="2000u", early_stopping=0)
    at, took = validations(ended)
    assert at == [20, 420, 820, 1220, 1620]  # 12 / 0.03 = 400 seconds
    assert took[0] == "Validation took 12.0s; 37.5% of the time so far (limit 3%)"
    assert took[-1].endswith("; 3.6% of the time so far (limit 3%)")
    course = ended.course
    assert course.validating == pytest.approx(60)
    assert course.validating / course.progress.seconds < 0.03


def test_a_frequency_that_is_stated_is_kept(run):
    ended = run(validation=12.0, valid_freq="20u", after="100u", early_stopping=0)
    at, took = validations(ended)
    assert at == [20, 40, 60, 80, 100]
    assert took[-1] == "Validation took 12.0s; 37.5% of the time so far"


@pytest.mark.parametrize(
    ("compat", "often"),
    [(None, "20u"), ("marian", "1e")],  # Marian's last validation is at the end of training
)
def test_a_validation_that_a_signal_stops_is_repeated(run, monkeypatch, compat, often):
    """The signal arrives while the external script runs, after the metrics were computed."""
    stop = SimpleNamespace(asked=False, end=lambda: None)

    def script(command, check):
        called.append(command)
        stop.asked = len(called) == 1
        check()
        return []

    called = []
    monkeypatch.setattr(run_validation, "lines_of", script)
    given = {"validation": 1.0, "valid_freq": often, "after": "20u", "compat": compat}
    given |= {"script": ["validate.sh"], "stop": stop}
    ended = run(**given)
    assert ended.lines[-1] == "Stopped after update 20; saved"
    for _ in range(2):
        stop.asked = False
        ended = run(**given, resumed=copy.deepcopy(ended))
    assert len(called) == 2
    at, _ = validations(ended)
    assert at == [20, 20] and "stalled" not in " ".join(ended.lines)


@pytest.mark.parametrize("compat", [None, "marian"])
def test_the_end_of_an_epoch_comes_before_the_end_of_training(run, compat):
    """Marian does not end the epoch; it validates at the end of training."""
    often = {"valid_freq": "1e", "disp_freq": "1e", "save_freq": "0"}
    ended = run(validation=1.0, after="200u", compat=compat, **often)
    assert validations(ended)[0] == [100, 200]
    assert "Seen 200 samples" in ended.lines
    assert ended.course.progress.epochs == (1 if compat else 2)


def test_the_log_follows_the_clock(run):
    """A line after half a minute at the start, later after a twentieth of the time."""
    ended = run(update=7.0, after="900u", disp_freq="900u", save_freq="0")
    times = [7.0 * int(line.split(" : ")[1][4:]) for line in ended.lines if " : Sen. " in line]
    gaps = [later - time for time, later in zip([0.0, *times], times, strict=False)]
    assert all(gap <= max(30, 0.05 * time) + 7 for gap, time in zip(gaps, times, strict=True))
    assert 40 < len(times) < 90
    signs = run(update=7.0, after="90u", disp_freq="30u", save_freq="0", compat="marian").lines
    signs = signs[len(ended.lines) :]  # both wrote the same file
    shown = [line.split(" : ")[1] for line in signs if " : Sen. " in line]
    assert shown == ["Up. 5", "Up. 30", "Up. 60", "Up. 90"]  # as before


def test_the_log_says_what_to_expect(run):
    """From the updates of the first ten seconds, except the first, which traces the model."""
    given = {"update": 2.0, "validation": 1.0, "valid_freq": "50u", "after": "150u"}
    ended = run(**given, save_freq="1e,1m")
    place, line = next((n, x) for n, x in enumerate(ended.lines) if x.startswith("Expected: "))
    assert line.startswith(
        "Expected: 3m20s an epoch (800 target words, about 100 updates), first validation after "
        "1m40s, first save after 1m00s; end after 5m00s at the latest; "
    )
    assert "not known for these options and this size" in line
    assert sum(x.startswith("Expected: ") for x in ended.lines) == 1 and place < 3
    (validated, _), _ = validations(ended)[0][:2], None
    assert validated * 2.0 == 100  # as expected
    run(**given, compat="marian")
    resumed = run(**given | {"after": "200u"}, resumed=ended)
    assert sum(x.startswith("Expected: ") for x in resumed.lines) == 1  # of the first run


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"valid_freq": "20u"}, [20, 40, 60, 80, 100]),
        ({"valid_freq": "1e"}, [100]),
        ({"chosen": {"valid_freq": "20u"}}, [20, 80, 140]),  # at most 3 % of the time
    ],
)
def test_the_bar_shows_the_time_to_the_next_validation(run, monkeypatch, options, expected):
    """An update takes a second, so the bar names the update of the next validation."""
    drawn = []
    monkeypatch.setattr(TrainingLog, "draw", lambda log, text: drawn.append(text))
    after = f"{expected[-1]}u"
    ended = run(validation=1.8, after=after, early_stopping=0, save_freq="0", **options)
    assert validations(ended)[0] == expected
    named = set()
    for text in drawn:
        if found := re.search(r" : validation in (?:(\d+)m)?(\d+)s : Cost .* : Up. (\d+) ", text):
            minutes, seconds, updates = (int(number or 0) for number in found.groups())
            named.add((next(n for n in expected if n >= updates), updates + 60 * minutes + seconds))
    assert named == {(update, update) for update in expected}
    assert len(drawn) > 0.7 * expected[-1]
    drawn.clear()
    run(after="40u")
    assert drawn and not any("validation in" in text for text in drawn)


def looks(ended):
    return [line.split(" : ")[1] for line in ended.lines if line.startswith("[look]")]


def test_a_first_look_counts_for_nothing_else(run):
    """After a tenth of an epoch, but not in the first half minute, and once in a run."""
    given = {"validation": 2.0, "valid_freq": "1e", "save_freq": "0", "early_stopping": 0}
    ended = run(**given, after="250u")
    assert looks(ended) == ["Up. 30"] and validations(ended)[0] == [100, 200]
    assert ended.course.looked_at == 30
    assert ended.course.progress.seconds == pytest.approx(ended.now) == pytest.approx(256)
    plain = run(**given, after="250u", compat="nematus")
    assert looks(plain) == ["Up. 30"] and plain.patience == ended.patience
    stopped = run(**given, after="50u")
    run(**given, after="90u", resumed=stopped)
    slow = run(update=70.0, **given, after="12u")
    assert looks(slow) == ["Up. 30", "Up. 30", "Up. 9"]  # of all runs; the last after ten minutes


def test_a_look_that_a_signal_stops_is_repeated(run):
    stop = SimpleNamespace(asked=False, end=lambda: None)
    given = {"validation": 2.0, "valid_freq": "1e", "stop": stop}

    class Asked(SimpleNamespace):
        """Asks to stop in the middle of the look."""

        @property
        def asked(self):
            self.count += 1
            return self.count == self.limit

    given["stop"] = Asked(count=0, limit=85, end=lambda: None)
    ended = run(**given, after="250u")
    assert ended.lines[-1] == "Stopped after update 30; saved" and not looks(ended)
    assert ended.course.looked_at == 0
    assert looks(run(validation=2.0, valid_freq="1e", after="60u", resumed=ended)) == ["Up. 30"]


def test_a_first_line_is_logged_within_a_minute(run):
    ended = run(update=7.0, after="90u", disp_freq="30u", save_freq="0")
    signs = [line for line in ended.lines if line.startswith("Ep. 1")]
    first = int(FIRST_LINE // 7) + 1
    assert [line.split(" : ")[1] for line in signs] == [f"Up. {n}" for n in range(5, 91, 5)]
    left = "5.0% of epoch 1, 11m05s left"
    assert f"Up. {first} " in signs[0] and signs[0].endswith(f" : {left} : 5.6% : ETA 9m55s")
    assert "Time 210.00s" in signs[5]  # of all thirty updates


@pytest.mark.parametrize("updates", [1, 2])
def test_no_line_is_logged_twice_if_the_first_update_is_slow(run, updates):
    ended = run(update=60.0, after=f"{updates}u", disp_freq="100u", save_freq="0")
    shown = [line.split(" : ")[1] for line in ended.lines if " : Sen. " in line]
    assert shown == ["Up. 1", "Up. 2"][:updates]


def test_no_extra_line_if_lines_come_early(run):
    ended = run(update=7.0, after="30u", disp_freq="5u", save_freq="0")
    assert sum(line.startswith("Ep. 1") for line in ended.lines) == 6


def test_an_update_of_several_batches(run):
    progress = run(after="4u", optimizer_delay=3, save_freq="0").course.progress
    assert (progress.updates, progress.batches, progress.sentences) == (4, 12, 24)


def test_warm_up_in_epochs_grows_with_every_update(run):
    ended = run(update=0.1, lr_warmup="2e", learn_rate=1.0, after="250u", disp_freq="50u")
    shown = [line.rpartition("L.r. ")[2][:10] for line in ended.lines if " : Sen. " in line]
    assert shown == ["2.5000e-01", "5.0000e-01", "7.5000e-01", "1.0000e+00", "1.0000e+00"]
    assert ended.course.progress.share == pytest.approx(0.5)


def test_a_warm_up_in_epochs_is_repeated(run):
    """The first update after a warm-up still has the full rate, as with a warm-up in updates."""
    cycle = {"lr_warmup": "1e", "lr_warmup_cycle": True, "learn_rate": 1.0}
    ended = run(update=0.1, after="250u", disp_freq="50u", **cycle)
    shown = [line.rpartition("L.r. ")[2][:10] for line in ended.lines if " : Sen. " in line]
    assert shown == ["5.0000e-01", "1.0000e+00"] * 2 + ["5.0000e-01"]
    assert ended.course.warmup_from == 2


def test_the_first_updates_are_logged(run):
    ended = run(update=0.1, after="9u", disp_first=3, disp_freq="5u", save_freq="0")
    signs = [line.split(" : ")[1] for line in ended.lines if line.startswith("Ep. 1")]
    assert signs == ["Up. 1", "Up. 2", "Up. 3", "Up. 5", "Up. 9"]


def test_earlier_models_are_kept_by_saves_of_their_own_frequency(run):
    ended = run(after="5u", save_freq="2u", keep=3)
    assert (ended.saved, ended.kept) == ([2, 4, 5], [3, 3, 0])


@pytest.mark.parametrize(
    ("options", "numbers", "updates"),
    [
        ({"logical_epoch": ("2e", "1"), "after": "2e"}, ["0.5", "1.0", "1.5", "2.0"], 400),
        ({"logical_epoch": ("50u",), "after_epochs": 4}, ["2.000", "4.000"], 200),
        ({"after": "2e"}, ["1", "2"], 200),
    ],
)
def test_epochs_of_other_lengths_as_in_marian(run, options, numbers, updates):
    """Marian 1.12 does so: `Ep. 2.0` is the last update of the fourth pass."""
    ended = run(update=0.1, disp_freq="100u", save_freq="0", **options)
    shown = [line.split(" : ")[0] for line in ended.lines if " : Sen. " in line]
    assert shown == [f"Ep. {number}" for number in numbers]
    assert ended.course.progress.updates == updates
