"""The parts of the loop of workers other than the first; see also `test_saving`."""

from types import SimpleNamespace

from cgru_cli.options.train import TrainOptions
from cgru_cli.train.plan import TrainingPlan
from cgru_cli.train.run.folder import RunFolder
from cgru_cli.train.run.other_workers import NoReporter, NoValidation, no_log
from cgru_cli.train.run.patience import Patience
from cgru_cli.train.run.progress import Interval, Progress
from cgru_cli.train.run.state import Course


def test_nothing_is_reported(tmp_path, capfd):
    plan = TrainingPlan(TrainOptions(plot=True), can_validate=True)
    setup = SimpleNamespace(plan=plan, folder=RunFolder(tmp_path / "m.npz"))
    course = Course(Progress(updates=3), interval=Interval(cost=1.0, words=2, sentences=1))
    with no_log() as log:
        reporter = NoReporter(log, setup)
        reporter.training(course, 0.1)
        reporter.end_of_epoch(course.progress, waited=0.0, seconds=1.0)
        reporter.draw()  # would need records
    assert capfd.readouterr() == ("", "") and not [*tmp_path.iterdir()]


def test_validation_changes_no_patience():
    patience = Patience(["bleu"], TrainOptions())
    before = patience.saved()
    NoValidation().measure(None, Progress(updates=3), patience, None)
    assert patience.saved() == before
