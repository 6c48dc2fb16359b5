"""Random documents of every format keep their protected parts in random translations."""

from random import Random

import pytest
from random_documents import fault


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.long)])
def test_random_documents(count):
    for seed in range(count):
        wrong = fault(Random(seed))
        assert not wrong, f"seed {seed}: {wrong}"
