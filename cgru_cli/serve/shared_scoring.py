"""Score pairs of all clients in shared batches."""

from __future__ import annotations

from typing import cast

from .. import PreparedPair
from ..errors import CgruError
from .metrics import Metrics
from .work import FIXED_WORK, MOST_CHARACTERS, Job, Kind, Outcome, Pair, WaitingLines


class SharedScoring:
    """Scores mini-batches of one kind, each taken from the queue once the previous is done."""

    def __init__(self, kind: Kind, lines: WaitingLines, metrics: Metrics):
        """kind: a kind without settings."""
        self._kind, self._lines, self._metrics = kind, lines, metrics
        self._scorer = kind.model.scorer
        self._most = 1 if kind.alone else kind.model.defaults.mini_batch
        self._held: tuple[Job, PreparedPair] | None = None  # read, but too long for the last batch
        self.jobs: list[Job] = []  # not scored yet
        self.work = 0.0  # row-steps of the last `advance`

    @property
    def size(self) -> int:
        """The number of pairs that were taken from the queue; any thread may ask."""
        return len(self.jobs)

    def advance(self) -> bool:
        """Score a batch of pairs.

        Returns False if there are no more pairs, or another kind must start instead.
        """
        self.work = 0.0
        batch = self._batch()
        if batch:
            self._metrics.batch(self._kind.model.name, len(batch))
            self.work = FIXED_WORK + 2 * len(batch) * max(pair.length for _, pair in batch)
            scored = self._scorer.together([pair for _, pair in batch])
            for (job, _), one in zip(batch, scored, strict=True):
                self._metrics.scored(self._kind.model.name, len(one.tokens))
                self._done(job, one)
        return self._held is not None or (bool(batch) and not self._lines.crowded(self._kind))

    def _batch(self) -> list[tuple[Job, PreparedPair]]:
        """The next pairs that fit into memory and into one turn together."""
        most_words = self._scorer.max_words * self._lines.workspace_share
        most_words = min(most_words, self._kind.most_work(self._lines.threads) / 2)
        most = min(self._most, self._lines.share(self._kind))
        batch: list[tuple[Job, PreparedPair]] = []
        is_last = self._held is not None and self._lines.crowded(self._kind)
        longest = characters = 0
        while len(batch) < most:
            read, self._held = self._held, None
            if read is None:
                is_last = is_last or characters >= MOST_CHARACTERS
                if is_last or not (job := self._lines.take(self._kind)):
                    break
                characters += job.characters
                read = self._read(job)
            if read is None:
                continue
            longest = max(longest, read[1].length)
            if batch and (len(batch) + 1) * longest > most_words:
                self._held = read
                break
            batch.append(read)
        return batch

    def _read(self, job: Job) -> tuple[Job, PreparedPair] | None:
        """A pair as the models read it; after an error, delivers it and returns None."""
        if job.ticket.cancelled:
            return None
        self.jobs.append(job)
        asked = cast(Pair, job.asked)
        try:
            return job, self._scorer.read(asked.source, asked.target, job.number)
        except CgruError as error:
            self._done(job, error)
            return None

    def _done(self, job: Job, outcome: Outcome) -> None:
        self.jobs.remove(job)
        job.done(outcome)
