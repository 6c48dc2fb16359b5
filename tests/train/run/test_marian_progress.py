"""Marian's file of how far a training is."""

import yaml

from cgru_cli.train.run.marian_progress import marian_progress
from cgru_cli.train.run.patience import Patience
from cgru_cli.train.run.progress import Progress


def test_the_keys_are_marians():
    """What Marian 1.12 writes after 60 updates of 4 epochs, without costs and seeds."""
    patience = Patience(["perplexity", "bleu"])
    for metric, value, update in (("perplexity", 4.0, 30), ("perplexity", 5.0, 60)):
        patience.update(metric, value, update)
    written = yaml.safe_load(marian_progress(Progress(4, 60, 0, 0, 14956), patience))
    assert written == {
        "epochs": 5, "batches": 60, "batches-epoch": 0, "samples": 0, "labels-total": 14956,
        "stalled": 1, "stalled-max": 1, "validator": "perplexity",
        "validators": {
            "perplexity": {"last-best": 4.0, "stalled": 1},
            "bleu": {"last-best": None, "stalled": 0},
        },
    }  # fmt: skip
