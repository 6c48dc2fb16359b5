"""Marian's `.progress.yml`, for scripts that look there how far a training is."""

from __future__ import annotations

from .patience import Patience
from .progress import Progress


def marian_progress(progress: Progress, patience: Patience) -> bytes:
    """The keys of Marian's file (src/training/training_state.h) that this package has values for.

    As there, epochs count the running one, and words are those of the target with EOS.
    """
    import yaml

    records = patience.records
    first = next(iter(records.values()), None)
    values = {
        "epochs": progress.epoch,
        "batches": progress.updates,
        "batches-epoch": progress.batches,
        "samples": progress.sentences,
        "labels-total": progress.words,
        "stalled": first.stalled if first else 0,
        "stalled-max": patience.most_stalled,
        "validator": first.metric if first else "",
        "validators": {
            name: {"last-best": record.best, "stalled": record.stalled}
            for name, record in records.items()
        },
    }
    return yaml.safe_dump(values, sort_keys=False).encode()
