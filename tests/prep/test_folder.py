"""The folder of `cgru prep`: interrupted runs resume, and foreign files are not replaced."""

import json
import os
import re
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import each_row

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
    """Makes a folder in two steps; returns whether it resumed, and the steps that ran."""

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
            begun = folder.begin(wanted, versions, force)
            if begun == "complete":
                return ["complete"]
            folder.step("vocab", step("vocab.json", "{}"), ["vocab.json"])
            folder.step("train", step("train.src", "a\nb\n"), ["train.src"])
            folder.finish({"train.src": 2}, {"cleaning": {"read": 2}})
        return [begun == "resumed", *done]

    return run


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".prep.lock")


def test_manifest_lists_the_outputs(make, tmp_path):
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


def test_complete_folder_is_not_made_again(make, tmp_path):
    make()
    (tmp_path / "out/.prep").mkdir()  # left by a kill right after the manifest
    assert make() == ["complete"]
    assert not (tmp_path / "out/.prep").exists()
    assert make(force=True) == [False, "vocab.json", "train.src"]


def test_interrupted_run_resumes(make, tmp_path):
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


def test_other_versions_start_over(make):
    with pytest.raises(KeyboardInterrupt):
        make(stop="train.src")
    assert make(versions={"cgru": "2"}) == [False, "vocab.json", "train.src"]


def test_step_with_changed_files_runs_again_with_all_later_steps(make, tmp_path):
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
        assert step("c") == {"number": 3}  # not done again
        assert written == ["a", "b", "c"]
        assert step("a") == {
            "number": 4
        }  # c has overwritten the file of a, so b and c count as not done
        assert list(folder._state["steps"]) == ["a"]
        step("b")
        assert written == ["a", "b", "c", "a", "b"]
        with pytest.raises(CgruError, match=r"none/x: cannot be written: No such file"):
            folder.step("d", lambda: (tmp_path / "none/x").write_text(""), [])


def test_failure_leaves_no_empty_folder(tmp_path):
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
        with pytest.raises(CgruError, match="out: another cgru prep is running there"), again:
            raise AssertionError
        assert (tmp_path / "out").exists()
    with Folder.locked(tmp_path / "out"):
        pass


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file/out"):
        with pytest.raises(CgruError, match=f"^{path}: cannot be written: "), Folder.locked(path):
            raise AssertionError


def test_files_of_other_programs_are_not_replaced(make, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("zzz", "train.src", "train.src.bak"):
        (out / name).write_text("mine")
    with pytest.raises(CgruError, match=r"train\.src: exists, and no complete run"):
        make()
    assert (out / "train.src").read_text() == "mine"
    assert make(force=True) == [False, "vocab.json", "train.src"]
    assert names(out) == ["manifest.json", "train.src", "train.src.bak", "vocab.json", "zzz"]
    (out / "vocab.json").write_text("[]")
    with pytest.raises(CgruError, match=r"vocab\.json: was changed since cgru prep wrote it"):
        make()
    (out / "vocab.json").unlink()  # lost files are made again
    assert make() == [False, "vocab.json", "train.src"]


# --- damaged records ----------------------------------------------------------------------------

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
    """The keys that lead to each place of a JSON value, except the results of steps."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if key == "content":
            continue
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*path, key))


@st.composite
def damaged(draw, record):
    """A record with a field removed or replaced."""
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
def test_damaged_records_are_reported_or_made_again(name, data, make, tmp_path):
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
        told = r": damaged; --force|: made with other |was changed since|exists, and no"
        assert re.search(told, str(error))
        assert make(force=True) == [False, "vocab.json", "train.src"]


# --- differences --------------------------------------------------------------------------------

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
def test_messages_name_each_difference_and_nothing_else(old, new):
    parts = [part for part in difference(old, new).split("; ") if part]
    defaults = {"seed": 0, "max_length": 100}
    given = [defaults | request["options"] for request in (old, new)]
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
        "--dev file 1 (d) is missing now",
        "--source file 1 (b) has other content",
        "--test file 2 (t) is new",
    ]
    moved = request([("source", 1, "elsewhere", "1"), ("dev", 1, "d", "2")], **old["options"])
    assert difference(old, moved) == ""


@each_row(
    ("name", "expected"),
    [
        ("train.src", True), ("test12.raw", True), ("dev.ref", True), ("vocab.factor2.json", True),
        ("codes.trg.bpe", True), ("manifest.json", True), ("preprocess.json", True),
        ("train.ref", False), ("dev.raw", False), ("vocab.txt", False), ("my.train.src", False),
        ("train.src.gz", False), ("sub/train.src", False), ("notes", False),
    ],
)  # fmt: skip
def test_files_that_a_run_may_write(name, expected, tmp_path):
    assert writes(tmp_path, tmp_path / name) is expected
    assert not writes(tmp_path / "other", tmp_path / name)


def test_link_into_the_folder(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "train.en").symlink_to(tmp_path / "out/train.src")
    assert writes(os.fspath(tmp_path / "out"), os.fspath(tmp_path / "train.en"))
    (tmp_path / "link").symlink_to(tmp_path / "out")
    assert writes(tmp_path / "link", tmp_path / "out/dev.src")


def test_json_file_bytes(tmp_path):
    write_json(tmp_path / "x.json", {"ä": [1, None]})
    assert (tmp_path / "x.json").read_bytes() == '{\n "ä": [\n  1,\n  null\n ]\n}\n'.encode()
    assert manifest.FILE == "manifest.json"
