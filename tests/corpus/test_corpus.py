"""Encoded corpora have every pair, in order, and count only if they are complete."""

import contextlib
import gzip
import json
import os
import tracemalloc

import numpy as np
import pytest
from corpora import Encoder, encoded, rows, single
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgru_cli.corpus import parallel_files
from cgru_cli.corpus.columns import GrowingArray
from cgru_cli.corpus.corpus import MANIFEST, is_outdated, open_cache
from cgru_cli.corpus.parallel_files import Files
from cgru_cli.errors import CgruError

sentences = st.lists(st.lists(st.integers(0, 70000), max_size=6), max_size=30)


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def encode(folder, source_lines, target_lines, source=single, **options):
    files = Files(write(folder / "s", source_lines), write(folder / "t", target_lines))
    encoder = {name: options.pop(name) for name in ("factors", "fingerprint") if name in options}
    return encoded(folder / "cache", files, encoder=Encoder(source, **encoder), **options)


def content(corpus):
    columns = corpus.columns
    return list(zip(rows(columns["source"]), rows(columns["target"]), strict=True))


def snapshot(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_pairs_come_back_in_order(tmp_path):
    corpus = encode(tmp_path, ["5 6", "7"], ["1", "2 3 4"])
    assert content(corpus) == [([[5], [6]], [1]), ([[7]], [2, 3, 4])]
    assert corpus.lengths.tolist() == [[3, 2], [2, 4]]
    assert corpus.lengths.dtype == np.int32
    assert corpus.skipped == {"empty": 0, "too long": 0, "cut": 0}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sentences, sentences, st.integers(1, 6), st.booleans())
def test_every_pair_is_kept_cut_or_counted(tmp_path, sources, targets, limit, crop):
    monkey = pytest.MonkeyPatch()
    monkey.setattr(parallel_files, "CHUNK", 4)
    pairs = list(zip(sources, targets, strict=False))
    full = [(s, t) for s, t in pairs if s and t]
    fitting = [(s, t) for s, t in full if len(s) <= limit and len(t) <= limit]
    expected = [(s[:limit], t[:limit]) for s, t in full] if crop else fitting
    lines = [[" ".join(map(str, side)) for side in column] for column in zip(*pairs, strict=True)]
    fresh = {"fingerprint": os.urandom(8).hex()}
    try:
        corpus = encode(tmp_path, *(lines or ([], [])), max_length=limit, crop=crop, **fresh)
    except CgruError:
        assert not expected
        return
    finally:
        monkey.undo()
    assert content(corpus) == [([[i] for i in s], t) for s, t in expected]
    changed = len(full) - len(fitting)
    assert corpus.skipped == {
        "empty": len(pairs) - len(full),
        "too long": 0 if crop else changed,
        "cut": changed if crop else 0,
    }


def test_factors(tmp_path):
    corpus = encode(tmp_path, ["5|1|9 6|2|8"], ["1"], factors=3)
    assert rows(corpus.columns["source"]) == [[[5, 1, 9], [6, 2, 8]]]


def test_word_with_other_factors_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot reshape"):
        encode(tmp_path, ["5|1 6"], ["1"], factors=2)
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_target_alone(tmp_path):
    files = Files(None, write(tmp_path / "t", ["1 2", "", "3"]))
    corpus = encoded(tmp_path / "cache", files, encoder=Encoder(factors=0))
    assert corpus.lengths.tolist() == [[1, 3], [1, 2]]
    assert corpus.columns["source"][1].shape == (0, 0)
    assert rows(corpus.columns["target"]) == [[1, 2], [3]]
    assert corpus.skipped["empty"] == 1


def test_several_files_and_gzip(tmp_path):
    with gzip.open(tmp_path / "s2.gz", "wt") as file:
        file.write("3\n")
    first = Files(write(tmp_path / "s1", ["1", "2"]), write(tmp_path / "t1", ["10", "20"]))
    second = Files(tmp_path / "s2.gz", write(tmp_path / "t2", ["30"]))
    corpus = encoded(tmp_path / "cache", first, second)
    assert content(corpus) == [([[1]], [10]), ([[2]], [20]), ([[3]], [30])]


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_ids_have_the_type_of_the_encoder(tmp_path, kind):
    files = Files(write(tmp_path / "s", ["1", "65535"]), write(tmp_path / "t", ["1", "65535"]))
    columns = encoded(tmp_path / "cache", files, encoder=Encoder(types=(kind, kind))).columns
    assert rows(columns["target"]) == [[1], [65535]]
    assert columns["target"].values.dtype == columns["source"].values.dtype == kind
    write(tmp_path / "t", ["1", "65536"])
    with pytest.raises(OverflowError) if kind is np.uint16 else contextlib.nullcontext():
        encoded(tmp_path / "cache", files, encoder=Encoder(types=(kind, kind)))


def test_fingerprint_depends_on_the_content(tmp_path, monkeypatch):
    first = encode(tmp_path, ["5 6", "7"], ["1", "2"])
    monkeypatch.setattr(parallel_files, "CHUNK", 1)
    again = encode(tmp_path, ["5 6", "", "7"], ["1", "3", "2"])
    assert again.fingerprints == first.fingerprints
    others = [(["5", "6 7"], ["1", "2"]), (["5 6", "7"], ["1", "3"]), (["5 6", "8"], ["1", "2"])]
    others = [encode(tmp_path, *lines) for lines in others]
    assert len({corpus.fingerprints["training text"] for corpus in (first, *others)}) == 4


def test_unchanged_files_are_not_read_again(tmp_path):
    first = encode(tmp_path, ["5"], ["1"])
    before = snapshot(tmp_path / "cache")

    def never(line):
        raise AssertionError

    files = Files(tmp_path / "s", tmp_path / "t")
    again = encoded(tmp_path / "cache", files, encoder=Encoder(never, never))
    assert content(again) == content(open_cache(tmp_path / "cache")) == content(first)
    assert again.fingerprints == first.fingerprints
    assert again.skipped == first.skipped
    assert snapshot(tmp_path / "cache") == before


@pytest.mark.parametrize("change", ["size", "time", "fingerprint", "max_length", "crop", "path"])
def test_change_encodes_again(tmp_path, change):
    encode(tmp_path, ["5", "7"], ["1", "3"])
    source, options = tmp_path / "s", {"max_length": 100, "crop": False}
    if change == "size":
        write(source, ["5 6", "7"])
    elif change == "time":
        os.utime(source, ns=(0, 0))
    elif change == "path":
        source = write(tmp_path / "other", ["5", "7"])
    else:
        options |= {"max_length": 99} if change == "max_length" else {}
        options |= {"crop": True} if change == "crop" else {}
    read = []
    encoder = Encoder(lambda line: read.append(line) or single(line))
    encoder.fingerprint = "l" if change == "fingerprint" else "k"
    corpus = encoded(tmp_path / "cache", Files(source, tmp_path / "t"), encoder=encoder, **options)
    assert len(read) == len(corpus) == 2
    assert len(snapshot(tmp_path / "cache")) == 5  # no old file is left


@pytest.mark.parametrize("damage", ["manifest", "missing", "short", "number"])
def test_damaged_cache_is_encoded_again(tmp_path, damage):
    first = encode(tmp_path, ["5"], ["1"])
    manifest = tmp_path / "cache" / MANIFEST
    path = manifest.with_name(json.loads(manifest.read_text())["columns"]) / "target.values.npy"
    if damage == "manifest":
        manifest.write_bytes(manifest.read_bytes()[:-9])
    elif damage == "missing":
        path.unlink()
    elif damage == "short":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        manifest.write_text("7")
    assert open_cache(tmp_path / "cache") is None
    again = encoded(tmp_path / "cache", Files(tmp_path / "s", tmp_path / "t"))
    assert content(again) == content(first)


def test_interruption_leaves_the_previous_corpus(tmp_path):
    old = encode(tmp_path, ["5"], ["1"])
    before = snapshot(tmp_path / "cache")

    def killed(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode(tmp_path, ["5", "6"], ["1", "2"], source=killed)
    assert snapshot(tmp_path / "cache") == before
    assert content(old) == [([[5]], [1])]


def test_files_of_a_killed_process_and_of_earlier_versions_are_removed(tmp_path):
    (tmp_path / "cache" / "0.columns").mkdir(parents=True)
    earlier = {"identity": {"format": 2}, "files": {}}
    for name in ("0.columns/source.ends.npy", "source-0.ids", ".corpus.json.0.tmp", "notes.txt"):
        (tmp_path / "cache" / name).write_bytes(b"part")
    (tmp_path / "cache" / MANIFEST).write_text(json.dumps(earlier))
    assert is_outdated(tmp_path / "cache")
    encode(tmp_path, ["5"], ["1"])
    assert not is_outdated(tmp_path / "cache")
    names = {path.name for path in snapshot(tmp_path / "cache")}
    assert len(names) == 6
    assert {MANIFEST, "notes.txt"} < names
    assert len(list((tmp_path / "cache").iterdir())) == 3


def test_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(self, values):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(GrowingArray, "append", full)
    with pytest.raises(CgruError, match="cache: cannot be written: No space left on device"):
        encode(tmp_path, ["5"], ["1"])
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("longer", ["s", "t"])
def test_different_line_counts(tmp_path, monkeypatch, longer):
    monkeypatch.setattr(parallel_files, "CHUNK", 2)
    counts = {"s": 3, "t": 3} | {longer: 8}
    with pytest.raises(CgruError) as error:
        encode(tmp_path, ["5"] * counts["s"], ["1"] * counts["t"])
    assert f"{tmp_path}/s has {counts['s']} lines and {tmp_path}/t {counts['t']};" in str(
        error.value
    )
    assert list((tmp_path / "cache").iterdir()) == []


def test_nothing_left(tmp_path):
    with pytest.raises(CgruError) as error:
        encode(tmp_path, ["", "5 6 7", "5 6"], ["1", "1", ""], max_length=2)
    assert "nothing is left of 3 lines: 2 with an empty side, 1 of more than 2" in str(error.value)
    with pytest.raises(CgruError, match="the text is empty"):
        encode(tmp_path, [], [])


def test_missing_file(tmp_path):
    with pytest.raises(CgruError, match="none: No such file"):
        encoded(tmp_path / "cache", Files(tmp_path / "none", tmp_path / "none"))


def test_errors_of_encoders_name_file_and_line(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_files, "CHUNK", 2)

    def picky(line):
        if line == "9":
            raise CgruError("two factors are needed")
        return single(line)

    with pytest.raises(CgruError, match="/s: line 4: two factors are needed"):
        encode(tmp_path, ["1", "2", "3", "9"], ["1"] * 4, source=picky)


@pytest.mark.long
def test_memory_does_not_grow_with_the_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_files, "CHUNK", 256)

    def peak(count):
        path = write(tmp_path / f"{count}", ["5 6 7 8"] * count)
        tracemalloc.start()
        encoded(tmp_path / "cache", Files(path, path))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(150 * parallel_files.CHUNK) < 2 * peak(40 * parallel_files.CHUNK)
