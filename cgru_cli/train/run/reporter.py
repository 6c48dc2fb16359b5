"""Reports of a run: the log and its records, TensorBoard's files, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import curves
from .end import End
from .folder import RunFolder
from .log import CostType, Interval, TrainingLog
from .patience import Record
from .progress import Progress

if TYPE_CHECKING:
    from ...optimization.gradient_norms import GradientProbe
    from ...optimization.step import Outcome, Share
    from ..examples import Example
    from .tensorboard import Summaries


class Reporter:
    """Reports a training in all the ways that were asked for.

    cost_type: what the lines of training show. board: TensorBoard's files; probe: looks at
    gradients, for the records; pictures: the run whose learning curves are drawn. devices: how
    many share a batch. end: of the training, whose share and time the lines end with. as_marian:
    whether the lines of training are Marian's alone, without these; shows_rate: with the learning
    rate.
    """

    def __init__(
        self,
        log: TrainingLog,
        cost_type: CostType,
        *,
        board: Summaries | None = None,
        probe: GradientProbe | None = None,
        pictures: RunFolder | None = None,
        devices: int = 1,
        end: End | None = None,
        as_marian: bool = False,
        shows_rate: bool = True,
    ):
        self.log, self.cost_type, self.end = log, cost_type, end
        self._shows_rate, self._as_marian = shows_rate, as_marian
        self._board, self._probe, self._pictures = board, probe, pictures
        self._devices = devices
        self._compiled: set[tuple[int, int, int]] = set()  # shapes of batches

    def training(
        self,
        progress: Progress,
        interval: Interval,
        rate: float,
        learnt: Sequence[Share] | None = None,
    ) -> None:
        """Report the updates since the last line; rate: of the next one; learnt: the last batch."""
        self._line(progress, interval, rate)
        if self._board:
            self._board.training(progress, interval, self.cost_type, rate)
        if learnt:
            self.gradients(progress, learnt)

    def first_sign(self, progress: Progress, interval: Interval, rate: float) -> None:
        """Log the updates so far; the next line counts them again."""
        self._line(progress, interval, rate, recorded=False)

    def _line(
        self, progress: Progress, interval: Interval, rate: float, *, recorded: bool = True
    ) -> None:
        self.log.training(
            progress,
            interval,
            self.cost_type,
            rate,
            show_rate=self._shows_rate,
            ending="" if self._as_marian else self._ending(progress),
            recorded=recorded,
        )

    def progress(self, progress: Progress, interval: Interval) -> None:
        """Show a line at a terminal, which the next one overwrites."""
        self.log.draw(
            f"Ep. {progress.epoch} : Up. {progress.updates} : "
            f"{interval.words_per_second:.0f} words/s{self._ending(progress)}"
        )

    def _ending(self, progress: Progress) -> str:
        """The share done and the time left, where the end is known."""
        shown = self.end.shown(progress) if self.end else ""
        return f" : {shown}" if shown else ""

    def gradients(self, progress: Progress, shares: Sequence[Share]) -> None:
        """Record norms of the first replica's gradients, with --log-gradients."""
        if self._probe is None:
            return
        examples, masks = shares[0]
        words = examples.target_mask
        counted = words if self.cost_type == "ce-mean-words" else words[:, 0]
        norms = self._probe.norms(examples, masks).to_json(int(counted.sum()))
        self.log.record("gradients", progress, **norms)

    def skipped(self, progress: Progress, outcome: Outcome) -> None:
        """Report an update whose cost or gradient was not finite."""
        self.log.line(
            f"Update {progress.updates} skipped: cost {outcome.cost:g}, gradient norm "
            f"{outcome.norm:g} (epoch {progress.epoch}, batch {progress.batches})"
        )
        self.log.record(
            "skipped", progress, batch=progress.batches, cost=outcome.cost, norm=outcome.norm
        )

    def compiling(self, group: Sequence[Example]) -> None:
        """Log shapes of batches that are compiled for the first time, which takes a while."""
        for example in group:
            rows, source = example.batch.source_mask.shape
            rows //= self._devices
            shape = (rows, source, example.batch.target.shape[1])
            if shape not in self._compiled:
                self._compiled.add(shape)
                self.log.line(
                    f"Compiling for batches of {rows} pairs, {source} source and {shape[2]} "
                    "target words"
                )

    def end_of_epoch(self, progress: Progress, *, waited: float, seconds: float) -> None:
        """progress: before the next epoch; waited: seconds of the epoch's for data."""
        self.log.record("data", progress, waited=waited, of=seconds)
        self.log.end_of_epoch(progress)

    def validation(self, progress: Progress, value: float, record: Record) -> None:
        """Report one metric, after its record has noted the value."""
        self.log.validation(progress, value, record)
        if self._board:
            self._board.validation(progress, record.metric, value)

    def draw(self) -> None:
        """Draw the learning curves so far, with --plot."""
        if self._pictures:
            curves.draw(self._pictures.records, self._pictures.model)
