"""Scoring pairs of all clients in batches."""

from __future__ import annotations

from typing import cast

from ..errors import CgruError
from ..system.windows import batches
from .metrics import Metrics
from .work import Job, Kind, Lines, Outcome, Pair


class SharedScoring:
    """A mini-batch of pairs of one kind, taken from the queue."""

    def __init__(self, kind: Kind, lines: Lines, metrics: Metrics):
        """kind: one without settings."""
        self._metrics, self._scorer = metrics, kind.model.scorer
        self.jobs: list[Job] = []  # those not scored yet
        most = 1 if kind.alone else kind.model.plan.mini_batch
        while len(self.jobs) < most and (job := lines.take(kind)) is not None:
            self.jobs.append(job)

    def advance(self) -> bool:
        """Score all pairs; returns False, since later pairs wait for the turn of their kind."""
        read = []
        for job in list(self.jobs):
            asked = cast(Pair, job.asked)
            try:
                read.append((job, self._scorer.read(asked.source, asked.target, job.number)))
            except CgruError as error:
                self._done(job, error)
        sizes = [max(max(map(len, one)) for one in lines) + 1 for _, lines in read]
        for batch in batches(sizes, len(read) or 1, self._scorer.max_tokens):
            self._metrics.batch(len(batch))
            jobs = [read[i][0] for i in batch]
            scored = self._scorer.batch([job.number for job in jobs], [read[i][1] for i in batch])
            for job, pair in zip(jobs, scored, strict=True):
                self._metrics.scored(len(pair.hypothesis.tokens))
                self._done(job, pair)
        return False

    def _done(self, job: Job, outcome: Outcome) -> None:
        self.jobs.remove(job)
        job.done(outcome)
