"""Files of numbers: read as written, in the size that the numbers need."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgru_cli.corpus.number_files import Numbers, mapped


def written(path, dtype, *chunks):
    path.unlink(missing_ok=True)
    numbers = Numbers(path, dtype)
    for chunk in chunks:
        numbers.append(np.array(chunk))
    numbers.finish()
    return numbers


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=5), max_size=5))
def test_whole_numbers(tmp_path, chunks):
    flat = [n for chunk in chunks for n in chunk]
    numbers = written(tmp_path / "n.ids", "<u2", *chunks)
    assert numbers.dtype.itemsize == (4 if max(flat, default=0) > 65535 else 2)
    assert mapped(numbers.path, numbers.dtype, (len(flat),)).tolist() == flat
    whole = written(tmp_path / "m.ids", "<u4", flat)
    assert numbers.digest.digest() == whole.digest.digest()  # whatever their size in the file
    assert len(list(tmp_path.iterdir())) == 2


def test_fractions(tmp_path):
    one = written(tmp_path / "a.ids", "<f4", [0.5, 1.25], [3.0])
    other = written(tmp_path / "b.ids", "<f4", [0.5, 1.5, 3.0])
    assert mapped(one.path, one.dtype, (3,)).tolist() == [0.5, 1.25, 3.0]
    assert one.digest.digest() != other.digest.digest()


def test_a_file_of_another_size(tmp_path):
    numbers = written(tmp_path / "n.ids", "<f4", [0.5])
    with pytest.raises(ValueError, match="is not 8 bytes long"):
        mapped(numbers.path, numbers.dtype, (2,))


def test_discarded_file_is_gone(tmp_path):
    numbers = Numbers(tmp_path / "n.ids", "<u2")
    numbers.append(np.array([70000]))
    numbers.discard()
    assert list(tmp_path.iterdir()) == []
