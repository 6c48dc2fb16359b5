"""The folder of a preparation: what is done stays done, what is another's stays as it is."""

import json
import os
import re
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.prep import folder as manifest
from cgru_cli.prep.folder import Folder, difference, writes
from cgru_cli.system.structured_files import write_json

VERSIONS = {"cgru": "1"}


def request(inputs=(), **options):
    return {
        "options": options,
        "inputs": [
            {"role": role, "number": number, "path": path, "sha256": digest}
            for role, number, path, digest in inputs
        ],
    }


WANTED = request([("source", 1, "a.en", "f00")], lowercase=True)


@pytest.fixture
def make(tmp_path):
    """Makes a folder of two steps; returns what was done and whether it went on."""

    def run(wanted=WANTED, *, versions=VERSIONS, force=False, stop=None, path=tmp_path / "out"):
        done = []

        def step(name, content):
            def write():
                if name == stop:
                    raise KeyboardInterrupt
                done.append(name)
                (path / name).write_text(content)
                return {"content": content}

            return write

        with Folder.locked(path) as folder:
            if not force and folder.is_complete(wanted):
                return ["complete"]
            goes_on = folder.begin(wanted, versions, force)
            folder.step("vocab", step("vocab.json", "{}"), ["vocab.json"])
            folder.step("train", step("train.src", "a\nb\n"), ["train.src"])
            folder.finish({"train.src": 2}, {"cleaning": {"read": 2}})
        return [goes_on, *done]

    return run


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".prep.lock")


def test_the_manifest_says_what_there_is(make, tmp_path):
    assert make() == [False, "vocab.json", "train.src"]
    values = json.loads((tmp_path / "out/manifest.json").read_bytes())
    assert values.pop("seconds").keys() == {"vocab", "train"}
    assert values == {
        "version": 1,
        "request": WANTED,
        "versions": VERSIONS,
        "cleaning": {"read": 2},
        "outputs": {
            # sha256sum
            "vocab.json": {
                "sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
                "bytes": 2,
            },
            "train.src": {
                "sha256": "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2",
                "bytes": 4,
                "lines": 2,
            },
        },
    }
    assert names(tmp_path / "out") == ["manifest.json", "train.src", "vocab.json"]


def test_what_is_whole_is_not_made_again(make, tmp_path):
    make()
    (tmp_path / "out/.prep").mkdir()  # as a kill right after the manifest leaves it
    assert make() == ["complete"]
    assert not (tmp_path / "out/.prep").exists()
    assert make(force=True) == [False, "vocab.json", "train.src"]


def test_an_interrupted_run_goes_on(make, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        make(stop="train.src")
    out = tmp_path / "out"
    assert names(out) == [".prep", "vocab.json"]
    with pytest.raises(
        CgruError, match="other options or text: --lowercase was set, is not set; name"
    ):
        make(request([("source", 1, "a.en", "f00")], lowercase=False))
    for left in (".train.src.0123456789ab.tmp", ".prep/.state.json.0123456789ab.tmp"):
        (out / left).touch()
    (out / ".mine.0123456789ab.tmp").touch()
    assert make() == [True, "train.src"]
    assert names(out) == [".mine.0123456789ab.tmp", "manifest.json", "train.src", "vocab.json"]


def test_another_version_begins_anew(make):
    with pytest.raises(KeyboardInterrupt):
        make(stop="train.src")
    assert make(versions={"cgru": "2"}) == [False, "vocab.json", "train.src"]


def test_a_step_whose_files_changed_is_done_again_with_all_after_it(make, tmp_path):
    make()
    out = tmp_path / "out"
    with Folder.locked(out) as folder:
        folder.begin(WANTED, VERSIONS, force=True)
        written = []

        def step(name):
            def write():
                written.append(name)
                (out / "train.src").write_text(name)
                return {"number": len(written)}

            return folder.step(name, write, ["train.src"])

        for name in "abc":
            step(name)
        assert written == ["a", "b", "c"]
        assert step("c") == {"number": 3}  # as it was left
        assert written == ["a", "b", "c"]
        assert step("a") == {
            "number": 4
        }  # whose file c has overwritten: b and c are not done any more
        assert list(folder._state["steps"]) == ["a"]
        step("b")
        assert written == ["a", "b", "c", "a", "b"]
        with pytest.raises(CgruError, match=r"none/x: cannot be written: No such file"):
            folder.step("d", lambda: (tmp_path / "none/x").write_text(""), [])


def test_a_failure_leaves_no_empty_folder(tmp_path):
    for path in (tmp_path / "out", tmp_path / "a/b"):
        with pytest.raises(KeyboardInterrupt), Folder.locked(path) as folder:
            folder.begin(WANTED, VERSIONS, force=False)
            raise KeyboardInterrupt
        assert not path.exists()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/notes").touch()
    with pytest.raises(KeyboardInterrupt), Folder.locked(tmp_path / "kept"):
        raise KeyboardInterrupt
    assert names(tmp_path / "kept") == ["notes"]


def test_one_process_at_a_time(tmp_path):
    with Folder.locked(tmp_path / "out"):
        again = Folder.locked(tmp_path / "out")
        with pytest.raises(CgruError, match="out: another cgru prep is at work there"), again:
            raise AssertionError
        assert (tmp_path / "out").exists()
    with Folder.locked(tmp_path / "out"):
        pass


def test_where_no_folder_can_be(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file/out"):
        with pytest.raises(CgruError, match=f"^{path}: cannot be written: "), Folder.locked(path):
            raise AssertionError


def test_what_is_anothers_is_refused(make, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("zzz", "train.src", "train.src.bak"):
        (out / name).write_text("mine")
    with pytest.raises(
        CgruError, match=r"train\.src: is there already, and not from a complete run"
    ):
        make()
    assert (out / "train.src").read_text() == "mine"
    assert make(force=True) == [False, "vocab.json", "train.src"]
    assert names(out) == ["manifest.json", "train.src", "train.src.bak", "vocab.json", "zzz"]
    (out / "vocab.json").write_text("[]")
    with pytest.raises(CgruError, match=r"vocab\.json: was changed since cgru prep wrote it"):
        make()
    (out / "vocab.json").unlink()  # what is lost is made again
    assert make() == [False, "vocab.json", "train.src"]


# --- what is on the disk may be anything --------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.text(string.printable, max_size=5),
    lambda of: (
        st.lists(of, max_size=2) | st.dictionaries(st.text("ab", max_size=2), of, max_size=2)
    ),
    max_leaves=4,
)
DIGEST = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
RECORDS = {
    "manifest.json": {
        "version": 1,
        "request": WANTED,
        "versions": VERSIONS,
        "outputs": {"vocab.json": {"sha256": DIGEST, "bytes": 2}},
        "seconds": {"vocab": 0.1},
    },
    ".prep/state.json": {
        "request": WANTED,
        "versions": VERSIONS,
        "steps": {
            "vocab": {"files": {"vocab.json": DIGEST}, "data": {"content": "{}"}, "seconds": 0.1}
        },
    },
}


def places(value, path=()):
    """Every place in a JSON value: the keys that lead there. What steps return is their own."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if key == "content":
            continue
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*path, key))


@st.composite
def damaged(draw, record):
    """A record that lacks something, or has something else in its place."""
    record = json.loads(json.dumps(record))
    *path, last = draw(st.sampled_from(list(places(record))))
    inside = record
    for key in path:
        inside = inside[key]
    if draw(st.booleans()):
        del inside[last]
    else:
        inside[last] = draw(JSON)
    return json.dumps(record).encode()


@pytest.mark.parametrize("name", RECORDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_damaged_records_are_told_or_made_again(name, data, make, tmp_path):
    content = data.draw(damaged(RECORDS[name]) | JSON.map(json.dumps).map(str.encode) | st.binary())
    out = tmp_path / "out"
    (out / ".prep").mkdir(parents=True, exist_ok=True)
    for path in (out / "train.src", out / "manifest.json"):
        path.unlink(missing_ok=True)
    (out / "vocab.json").write_text("{}")
    (out / name).write_bytes(content)
    try:
        assert make()[-1] in ("train.src", "complete")
    except CgruError as error:
        told = r": damaged; --force|: made with other |was changed since|is there already"
        assert re.search(told, str(error))
        assert make(force=True) == [False, "vocab.json", "train.src"]


# --- what differs -------------------------------------------------------------------------------

OPTIONS = st.dictionaries(st.sampled_from(["seed", "max_length"]), st.none() | st.integers(0, 1))
INPUTS = st.dictionaries(
    st.tuples(st.sampled_from(["source", "dev"]), st.integers(1, 2)),
    st.tuples(st.sampled_from(["x", "y"]), st.sampled_from(["f00", "ba5"])),
)
REQUESTS = st.builds(
    lambda options, inputs: request([(*key, *value) for key, value in inputs.items()], **options),
    OPTIONS,
    INPUTS,
)


@given(REQUESTS, REQUESTS)
def test_every_difference_is_named_and_nothing_else(old, new):
    parts = [part for part in difference(old, new).split("; ") if part]
    given = [request["options"] for request in (old, new)]
    changed = [k for k in sorted({*given[0], *given[1]}) if given[0].get(k) != given[1].get(k)]
    digests = [
        {f"--{e['role']} file {e['number']} ": e["sha256"] for e in request["inputs"]}
        for request in (old, new)
    ]
    files = [
        k for k in sorted({*digests[0], *digests[1]}) if digests[0].get(k) != digests[1].get(k)
    ]
    expected = [f"--{name.replace('_', '-')} was " for name in changed] + files
    assert len(parts) == len(expected)
    assert all(map(str.startswith, parts, expected))


def test_differences_in_words():
    old = request(
        [("source", 1, "a", "1"), ("dev", 1, "d", "2")], seed=1, tokenize=True, codes=None
    )
    new = request(
        [("source", 1, "b", "9"), ("test", 2, "t", "3")], seed=2, tokenize=False, codes="c"
    )
    assert difference(old, new).split("; ") == [
        "--codes was not set, is c",
        "--seed was 1, is 2",
        "--tokenize was set, is not set",
        "--dev file 1 (d) is not given any more",
        "--source file 1 (b) has other content",
        "--test file 2 (t) is new",
    ]
    moved = request([("source", 1, "elsewhere", "1"), ("dev", 1, "d", "2")], **old["options"])
    assert difference(old, moved) == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.src", True), ("test12.raw", True), ("dev.ref", True), ("vocab.factor2.json", True),
        ("codes.trg.bpe", True), ("manifest.json", True), ("preprocess.json", True),
        ("train.ref", False), ("dev.raw", False), ("vocab.txt", False), ("my.train.src", False),
        ("train.src.gz", False), ("sub/train.src", False), ("notes", False),
    ],
)  # fmt: skip
def test_the_places_that_a_run_writes_to(name, expected, tmp_path):
    assert writes(tmp_path, tmp_path / name) is expected
    assert not writes(tmp_path / "other", tmp_path / name)


def test_a_link_into_the_folder_is_such_a_place(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "train.en").symlink_to(tmp_path / "out/train.src")
    assert writes(os.fspath(tmp_path / "out"), os.fspath(tmp_path / "train.en"))
    (tmp_path / "link").symlink_to(tmp_path / "out")
    assert writes(tmp_path / "link", tmp_path / "out/dev.src")


def test_json_is_written_as_it_is(tmp_path):
    write_json(tmp_path / "x.json", {"ä": [1, None]})
    assert (tmp_path / "x.json").read_bytes() == '{\n "ä": [\n  1,\n  null\n ]\n}\n'.encode()
    assert manifest.FILE == "manifest.json"
