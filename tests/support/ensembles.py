"""Ensembles of models in memory, which all read the same source."""

from cgru_cli.search.ensemble import Ensemble
from cgru_cli.search.runtime import PreparedModel, Settings


class OneSource(Ensemble):
    """An ensemble of models (structure, arrays); by default with equal weights."""

    def __init__(self, *models, weights=None):
        settings, self.count = Settings("cpu", 1), len(models)
        prepared = [PreparedModel(*model, settings) for model in models]
        super().__init__(prepared, weights or [1 / self.count] * self.count)

    def begin(self, source, words=()):
        """Encode ids and mask (B,S) for every model."""
        return super().begin([source] * self.count, words)
