"""`cgru prep`: a folder is made, resumed or refused; `--apply` and `--undo`."""

import contextlib
import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import prepared as server
import pytest

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.options.prep import PrepOptions
from cgru_cli.prep import job as prep
from cgru_cli.text.pipeline import Preprocessing

CHANCE = random.Random(5)
EN = ["the", "a", "cat", "dog", "house", "tree", "sees", "has", "loves", "old", "new", "red"]
PAIRS = []
while len(PAIRS) < 300:
    words = CHANCE.choices(EN, k=CHANCE.randint(3, 9))
    pair = " ".join(words).capitalize() + ".", " ".join(w[::-1] for w in words).capitalize() + "!"
    if pair not in PAIRS:
        PAIRS.append(pair)


@pytest.fixture
def text(tmp_path):
    """Writes pairs of texts, or of bytes, to two files."""

    def write(pairs, name="train"):
        paths = []
        for i, language in enumerate(("en", "de")):
            path = tmp_path / f"{name}.{language}"
            lines = (p[i] if isinstance(p[i], bytes) else p[i].encode() for p in pairs)
            path.write_bytes(b"".join(line + b"\n" for line in lines))
            paths.append(str(path))
        return paths

    return write


@pytest.fixture
def job(tmp_path, text):
    """Runs a job, by default on `PAIRS`; returns the folder."""
    source, target = text(PAIRS)
    defaults = {"source": (source,), "target": (target,), "subword_vocabulary": 60, "jobs": 1}

    def run(folder=None, **options):
        folder = folder or tmp_path / "out"
        prep.run(str(folder), PrepOptions(**{**defaults, **options}))
        return folder

    return run


def hashes(folder):
    """Hashes of all files except the manifest, which has times and paths."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file() and path.name not in ("manifest.json", ".prep.lock")
    }


def lines(path):
    return path.read_text("utf-8").split("\n")[:-1]


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text("utf-8"))


NAMES = {
    "spm": ({}, {"vocab.spm"}),
    "two spm": ({"separate": True}, {"vocab.src.spm", "vocab.trg.spm"}),
    "pieces": (
        {"vocabulary_format": "json", "subwords": "unigram"},
        {"vocab.src.json", "vocab.trg.json"},
    ),
    "one json": (
        {"joint_vocabulary": True, "vocabulary_format": "json", "separate": True},
        {"vocab.json"},
    ),
    "codes": (
        {"subwords": "subword-nmt", "truecase": True, "tokenize": True, "source_lang": "en",
         "target_lang": "de"},
        {"vocab.src.json", "vocab.trg.json", "codes.bpe"},
    ),
    "two codes": (
        {"subwords": "subword-nmt", "separate": True},
        {"vocab.src.json", "vocab.trg.json", "codes.src.bpe", "codes.trg.bpe"},
    ),
    "words": ({"subwords": "none"}, {"vocab.src.json", "vocab.trg.json"}),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_folder_matches_the_pipeline(name, job, text):
    options, vocabularies = NAMES[name]
    dev = text([("A small \u201cx\u201d", "Ein y"), ("", "nur"), ("A  cat", "ac")], "dev")
    folder = job(dev=tuple(dev), **options)
    names = {"train.src", "train.trg", "dev.src", "dev.trg", "dev.ref", "preprocess.json"}
    assert set(hashes(folder)) == names | vocabularies
    pipeline = Preprocessing.read(folder)
    for i, (side, ending) in enumerate((("source", "src"), ("target", "trg"))):
        expected = [pipeline.apply(pair[i], side) for pair in PAIRS]
        assert lines(folder / f"train.{ending}") == expected
        raw = lines(Path(dev[i]))
        assert lines(folder / f"dev.{ending}") == [pipeline.apply(line, side) for line in raw]
        if not pipeline.settings.tokenize:
            assert [pipeline.undo(line, side) for line in expected] == [p[i] for p in PAIRS]
    assert (folder / "dev.ref").read_bytes() == Path(dev[1]).read_bytes()
    for vocabulary in vocabularies:
        if vocabulary.startswith("vocab"):
            read = read_vocabulary(folder / vocabulary)
            assert (read.eos_id, read.unk_id) == (0, 1)
            sides = (
                [".src"]
                if ".src" in vocabulary
                else [".trg"]
                if ".trg" in vocabulary
                else [".src", ".trg"]
            )
            for ending in sides:
                for line in lines(folder / f"train{ending}"):
                    assert 1 not in read.encode(read.tokenize(line))


def test_vocabularies_are_sorted_by_frequency_then_word(job, text):
    source, target = text([("b a", "x"), ("a c b", "y z"), ("a UNK eos", "z")], "t")
    folder = job(source=(source,), target=(target,), subwords="none")
    assert json.loads((folder / "vocab.src.json").read_text()) == {
        "eos": 0, "UNK": 1, "a": 2, "b": 3, "c": 4,
    }  # fmt: skip
    folder = job(folder.with_name("small"), source=(source,), target=(target,), subwords="none",
                 vocabulary_size=4, joint_vocabulary=True)  # fmt: skip
    assert json.loads((folder / "vocab.json").read_text()) == {"eos": 0, "UNK": 1, "a": 2, "b": 3}


def test_cleaning_counts_pairs_and_keeps_the_order(job, text):
    good = [("a b", "x y"), ("c", "z")]
    bad = [(b"\xff", "x"), ("a\x01", "x"), ("", "x"), ("a", " "), ("s", "s"), ("a b c d", "x"),
           ("a b c d e f", "x y z u v"), ("c", "z"), ("long" * 9, "x"),
           (" c\u00a0", "z")]  # fmt: skip
    source, target = text([*good, *bad, ("last", "one")], "t")
    options = {"source": (source,), "target": (target,), "subwords": "none", "max_length": 5,
               "max_ratio": 3.0, "max_characters": 30}  # fmt: skip
    folder = job(**options)
    assert lines(folder / "train.src") == ["a b", "c", "last"]
    assert lines(folder / "train.trg") == ["x y", "z", "one"]
    removed = {"invalid": 1, "control": 1, "empty": 2, "identical": 1, "ratio": 1, "length": 1,
               "duplicates": 2, "characters": 1}  # fmt: skip
    assert manifest(folder)["cleaning"] == {"read": 13, "kept": 3, "removed": removed}
    keep = {f"keep_{name}": True for name in
            ("invalid", "control", "empty", "identical", "duplicates")}  # fmt: skip
    off = {"max_length": 0, "max_ratio": 0.0, "max_characters": 0}
    folder = job(folder.with_name("all"), **{**options, **keep, **off})
    kept = ["a b", "c", "\ufffd", "a", "", "a", "s", "a b c d", "a b c d e f", "c", "long" * 9, "c"]
    assert lines(folder / "train.src") == [*kept, "last"]


def test_several_files_gzip_and_several_test_sets(job, text, tmp_path):
    first, second = text(PAIRS[:100], "first"), text(PAIRS[100:], "second")
    packed = f"{second[0]}.gz"
    with gzip.open(packed, "wb") as file:
        file.write(Path(second[0]).read_bytes().removesuffix(b"\n"))
    tests = [*text(PAIRS[:2], "t1"), *text([("x\r", "y")], "t2")]
    folder = job(
        source=(first[0], packed), target=(first[1], second[1]), test=tuple(tests), subwords="none"
    )
    assert (
        hashes(folder)["train.src"] == hashes(job(tmp_path / "one", subwords="none"))["train.src"]
    )
    assert lines(folder / "test1.raw") == [pair[0] for pair in PAIRS[:2]]
    assert (folder / "test2.raw").read_bytes() == b"x\r\n"
    assert lines(folder / "test2.src") == ["x"]
    assert lines(folder / "test2.ref") == ["y"]
    assert manifest(folder)["outputs"]["test1.ref"]["lines"] == 2
    assert [entry["lines"] for entry in manifest(folder)["inputs"]] == [
        100,
        200,
        100,
        200,
        2,
        2,
        1,
        1,
    ]
    folder = job(tmp_path / "named", test=tuple(tests[:2]))
    assert (folder / "test.src").exists()


def test_factors(job, text):
    pairs = [("The|D cats|N", "x"), ("cats|N see|V", "y z")]
    source, target = text(pairs, "f")
    options = {"source": (source,), "target": (target,), "factors": 2, "lowercase": True}
    folder = job(subwords="none", **options)
    assert lines(folder / "train.src") == ["the|D cats|N", "cats|N see|V"]
    assert read_vocabulary(folder / "vocab.src.json").words[2] == "cats"
    assert read_vocabulary(folder / "vocab.factor1.json").words[2] == "N"
    assert (folder / "vocab.trg.json").exists()
    folder = job(folder.with_name("bpe"), **{**options, "subword_vocabulary": 20})
    for line, pair in zip(lines(folder / "train.src"), pairs, strict=True):
        assert Preprocessing.read(folder).undo(line, "source") == pair[0].lower().translate(
            {ord("|"): None, ord("d"): None, ord("n"): None, ord("v"): None}
        )
    source, target = text([*pairs, ("The|D cat", "z")], "g")
    with pytest.raises(CgruError, match=r"g.en:3: 'cat' has 1 factors, expected 2"):
        job(folder.with_name("bad"), **{**options, "source": (source,), "target": (target,)})
    assert not folder.with_name("bad").exists()


def test_legacy_codes_are_applied(job, tmp_path):
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\nc a\nca t</w>\n")
    folder = job(codes=(str(codes),))
    assert (folder / "codes.bpe").read_bytes() == codes.read_bytes()
    assert "cat" in (folder / "train.src").read_text().split()
    assert Preprocessing.read(folder).apply("cat cad") == "cat ca@@ d"
    codes.write_text("#version: 0.2\nc a t\n")
    with pytest.raises(CgruError, match=f"{codes}:2: expected two sub-words"):
        job(tmp_path / "bad", codes=(str(codes),))


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, NAMES["codes"][0]], ids=["spm", "codes"])
def test_number_of_jobs_changes_nothing(job, text, tmp_path, monkeypatch, options):
    monkeypatch.setattr("cgru_cli.prep.raw_text.LINES", 40)
    one, two = (job(tmp_path / str(n), jobs=n, **options) for n in (1, 2))
    assert hashes(one) == hashes(two)


def test_spans_to_copy_become_placeholders(job, text):
    """In training text, dev and dev.ref, not in what is translated; bytes spell the rest."""
    pairs = [(f"{s} In {i}.5 or 中.", f"{t} Um {i}.5 oder 文.") for i, (s, t) in enumerate(PAIRS)]
    source, target = text(pairs, "copied")
    folder = job(
        source=(source,),
        target=(target,),
        dev=(source, target),
        test=(source, target),
        copy=("number",),
        byte_fallback=True,
        subword_vocabulary=360,
        character_coverage=0.99,
    )
    for name in ("train.src", "train.trg", "dev.src", "dev.trg", "dev.ref", "test.trg"):
        lines = (folder / name).read_text().splitlines()
        assert len(lines) == len(pairs) and all(
            "⟦1⟧" in line and ".5" not in line for line in lines
        )
    assert (folder / "test.ref").read_text() == Path(target).read_text()
    assert Preprocessing.read(folder).settings.copy == ("number",)
    vocabulary = read_vocabulary(folder / "vocab.spm")
    assert vocabulary.tokenize("(⟦1⟧)").count("⟦1⟧") == 1 and "⟦10⟧" in vocabulary
    pieces = vocabulary.tokenize("a 象 ⟦2⟧ é")
    assert vocabulary.unk_id not in vocabulary.encode(pieces)
    assert vocabulary.detokenize(pieces) == "a 象 ⟦2⟧ é"


def test_json_vocabularies_have_all_bytes_and_placeholders(job):
    folder = job(
        copy=("number",),
        byte_fallback=True,
        subword_vocabulary=360,
        vocabulary_format="json",
        vocabulary_size=400,
    )
    for name in ("vocab.src.json", "vocab.trg.json"):
        vocabulary = read_vocabulary(folder / name)
        assert "⟦10⟧" in vocabulary and "<0x00>" in vocabulary and "<0xFF>" in vocabulary
        assert (vocabulary.eos_id, vocabulary.unk_id) == (0, 1) and 280 < len(vocabulary) <= 400


def test_sample_depends_on_the_seed(job, tmp_path):
    folders = [
        job(tmp_path / f"{seed}{n}", sample=40, seed=seed, subwords="subword-nmt")
        for n, seed in enumerate((1, 1, 2))
    ]
    first, again, other = (hashes(folder)["codes.bpe"] for folder in folders)
    assert first == again != other


def test_repeated_command_does_nothing(job, capsys, tmp_path, text):
    folder = job()
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    capsys.readouterr()
    job(jobs=2)
    assert capsys.readouterr().err == f"cgru: prep: {folder}: up to date, nothing to do\n"
    moved = text(PAIRS, "elsewhere")  # the content counts, not the path
    job(source=(moved[0],), target=(moved[1],), quiet=True)
    assert capsys.readouterr().err == ""
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_other_options_are_refused_and_named(job, text):
    folder = job()
    before = hashes(folder)
    with pytest.raises(
        CgruError, match="other options or text: --max-length was 100, is 5; name another"
    ):
        job(max_length=5)
    with pytest.raises(CgruError, match="--lowercase was not set, is set"):
        job(lowercase=True)
    changed = text(PAIRS[:-1], "changed")
    with pytest.raises(CgruError, match=r"--source file 1 \(.*changed.en\) has other content"):
        job(source=(changed[0],), target=(changed[1],))
    with pytest.raises(CgruError, match=r"--dev file 1 \(.*\) is new"):
        job(dev=tuple(changed))
    assert hashes(folder) == before
    job(separate=True, force=True)
    assert "vocab.spm" in before and "vocab.spm" not in hashes(folder)
    assert not (folder / ".prep").exists()


def test_inputs_are_not_overwritten(job, tmp_path, text):
    source, target = text(PAIRS)
    for old, new in ((source, "train.src"), (target, "train.trg")):
        Path(old).rename(tmp_path / new)
    paths = {"source": (str(tmp_path / "train.src"),), "target": (str(tmp_path / "train.trg"),)}
    with pytest.raises(UsageError, match="the output would replace it"):
        job(tmp_path, force=True, **paths)
    assert len(lines(tmp_path / "train.src")) == len(PAIRS)


@pytest.mark.parametrize("content", ["[]", "{}", '{"version": 1, "request": {}}', "\x00",
    '{"version": 1, "request": {"options": {}, "inputs": [1]}, "versions": {}, "outputs": {}}',
    '{"version": 1, "request": {"options": {}, "inputs": []}, "versions": {}, "outputs": {"a": 1}}',
])  # fmt: skip
def test_damaged_manifest_gives_one_line(content, job, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/manifest.json").write_text(content)
    with pytest.raises(CgruError, match=r"manifest\.json: damaged; --force"):
        job()


@pytest.mark.parametrize(
    ("package", "options"),
    [("sacremoses", NAMES["codes"][0]), ("subword_nmt", {"subwords": "subword-nmt"})],
)
def test_missing_package(package, options, job, tmp_path, monkeypatch):
    loaded = [name for name in sys.modules if name.startswith(f"{package}.")]
    for name in (package, *loaded):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CgruError, match=r"is not installed: pip install 'cgru\[prep\]'"):
        job(**options)
    assert not (tmp_path / "out/train.src").exists()


class Killed(BaseException):
    pass


def test_interrupted_run_resumes(job, tmp_path, monkeypatch, capsys):
    options = {**NAMES["codes"][0], "dev": ()}
    undisturbed = hashes(job(tmp_path / "whole", **options))
    steps = list(manifest(tmp_path / "whole")["seconds"])
    assert steps == ["clean", "truecase", "subwords", "train", "preprocess"]
    messages = [
        "cleaning", "learning the case of words", "learning 60 sub-words",
        "writing train.src and train.trg", "writing preprocess.json",
    ]  # fmt: skip
    for last in range(len(steps)):
        done = []

        def step(self, name, make, files, last=last, done=done, original=prep.Folder.step):
            if len(done) == last:
                for file in files[:1]:
                    (self.path / file).write_bytes(b"half")
                (self.path / ".train.src.0123456789ab.tmp").touch()
                raise Killed
            done.append(name)
            return original(self, name, make, files)

        folder = tmp_path / f"cut{last}"
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(prep.Folder, "step", step)
            patch.setattr(prep.Folder, "_leave_nothing", lambda self: None)
            job(folder, **options)
        capsys.readouterr()
        job(folder, **options)
        said = capsys.readouterr().err
        assert ("resuming an interrupted run" in said) == (last > 0)
        for name, message in zip(steps, messages, strict=True):
            assert (f"cgru: prep: {message}\n" in said) == (name not in done)
        assert hashes(folder) == undisturbed, last
        assert not list(folder.glob(".*.tmp"))


def test_changed_temporary_files_are_made_again(job, tmp_path, monkeypatch):
    undisturbed = hashes(job(tmp_path / "whole"))
    with monkeypatch.context() as patch, pytest.raises(Killed):

        def killed(path, values, original=prep.write_json):
            if path.name == "preprocess.json":
                raise Killed
            original(path, values)

        patch.setattr(prep, "write_json", killed)
        job()
    (tmp_path / "out/.prep/words.src").write_text("x\n")
    with pytest.raises(CgruError, match="--sample was"):
        job(sample=7)
    assert hashes(job()) == undisturbed


def bad_inputs(text):
    yield "no lines to train on", {"pairs": []}
    yield (
        r"none of 2 pairs is left: 1 with an empty side, 1 with identical sides",
        {"pairs": [("", "b"), ("a", "a")]},
    )
    yield "--subword-vocabulary 5: ", {"subword_vocabulary": 5}
    yield "No such file", {"source": ("missing",)}
    yield "not a regular file", {"source": ("/dev/null",)}
    yield "not a regular file", {"target": ("/",)}
    yield "no sub-words can be learned", {"pairs": [("a", "b")], "subwords": "subword-nmt"}


@pytest.mark.parametrize("number", range(7))
def test_bad_input_gives_one_line_and_leaves_nothing(number, job, text, tmp_path):
    message, options = list(bad_inputs(text))[number]
    pairs = options.pop("pairs", None)
    if pairs is not None:
        source, target = text(pairs, "bad")
        options |= {"source": (source,), "target": (target,)}
    with pytest.raises(CgruError, match=message) as caught:
        job(**options)
    assert "\n" not in str(caught.value)
    folder = tmp_path / "out"
    assert not folder.exists() or not set(hashes(folder))


def test_texts_of_different_length(job, text, tmp_path):
    source, target = text(PAIRS[:3], "a")[0], text(PAIRS[:2], "b")[1]
    with pytest.raises(CgruError, match=r"a\.en has 3 lines and .*b\.de 2"):
        job(source=(source,), target=(target,))
    with pytest.raises(CgruError, match=r"a\.en has 3 lines and .*b\.de 2"):
        job(dev=(source, target))
    assert not (tmp_path / "out").exists()


def test_full_disk_leaves_finished_steps(job, tmp_path, monkeypatch):
    undisturbed = hashes(job(tmp_path / "whole"))

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("cgru_cli.prep.job.WordCounts", full)
        with pytest.raises(CgruError, match="cannot be written: No space left"):
            job()
    assert not (tmp_path / "out/train.src").exists()
    assert hashes(job()) == undisturbed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": ()}, "name the text"),
        ({"target": ("a", "b")}, "go in pairs"),
        ({"dev": ("a",)}, "--dev a: two files"),
        ({"test": ("a",)}, "--test a: pairs of files"),
        ({"lowercase": True, "truecase": True}, "exclude each other"),
        ({"joint": True, "separate": True}, "exclude each other"),
        ({"truecase": True}, "--truecase needs --tokenize"),
        ({"escape": True}, "--escape needs --tokenize"),
        ({"split_hyphens": True}, "--split-hyphens needs --tokenize"),
        ({"tokenize": True, "target_lang": "de"}, "--tokenize needs --source-lang"),
        ({"normalize_punctuation": True, "source_lang": "en"}, "needs --target-lang"),
        ({"codes": ("c",), "subwords": "bpe"}, "--codes and --subwords bpe exclude"),
        ({"codes": ("a", "b", "c")}, "one file for both sides"),
        ({"codes": ("a",), "separate": True}, "one file of --codes serves both sides"),
        ({"subwords": "none", "separate": True}, "--separate and --subwords none exclude"),
        ({"subwords": "none", "character_coverage": 0.9}, "--character-coverage and --subwords"),
        ({"subwords": "none", "vocabulary_format": "spm"}, "needs --subwords"),
        (
            {"factors": 2, "vocabulary_format": "spm"},
            "--factors and --vocabulary-format spm",
        ),
        ({"joint_vocabulary": True}, "are for --vocabulary-format json"),
        ({"vocabulary_size": 9}, "are for --vocabulary-format json"),
        ({"vocabulary_size": 2, "subwords": "none"}, "at least 3"),
        (
            {"vocabulary_format": "json", "vocabulary_size": 258, "byte_fallback": True},
            "at least 259, or 0",
        ),
        ({"max_ratio": 0.5}, "0, or a number from 1"),
        ({"factors": 0}, "--factors 0: a whole number from 1"),
        ({"character_coverage": 1.5}, "at most 1"),
        ({"side": "source"}, "--side needs --apply or --undo"),
        ({"apply": "x"}, "--apply and --source exclude"),
    ],
)
def test_contradicting_options_are_refused(options, message, job, tmp_path):
    with pytest.raises(UsageError, match=message):
        job(**options)
    assert not (tmp_path / "out").exists()


def cgru(*arguments, **more):
    command = [sys.executable, "-m", "cgru_cli", "prep", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, **more)


def prepared_cgru(*arguments, **more):
    return subprocess.run(server.command("prep", *arguments), capture_output=True, **more)


@pytest.mark.long
def test_from_the_command_line(text, tmp_path):
    source, target = text(PAIRS)
    test = text(PAIRS[:3], "t")
    folder = tmp_path / "out"
    options = ["--tokenize", "--source-lang", "en", "--target-lang", "de", "--subwords",
               "subword-nmt", "--subword-vocabulary", "20", "--test", *test]  # fmt: skip
    made = cgru(folder, "-s", source, "-t", target, *options)
    assert made.returncode == 0, made.stderr
    assert b"300 of 300 pairs kept" in made.stderr and made.stdout == b""
    raw = (folder / "test.raw").read_bytes()
    applied = prepared_cgru("--apply", folder, input=raw)
    assert (applied.stdout, applied.stderr) == ((folder / "test.src").read_bytes(), b"")
    words = prepared_cgru("--apply", folder / "preprocess.json", "--words", input=raw).stdout
    assert words.replace(b" .", b".") == raw
    undone = prepared_cgru("--undo", folder, input=(folder / "test.trg").read_bytes())
    assert undone.stdout == (folder / "test.ref").read_bytes()
    assert prepared_cgru("--undo", folder, "--side", "source", input=applied.stdout).stdout == raw
    refused = prepared_cgru(folder, "-s", source, "-t", target)
    assert refused.returncode == 1 and refused.stderr.count(b"\n") == 1
    assert prepared_cgru("--apply", tmp_path / "no", input=b"").returncode == 1
    assert prepared_cgru("--apply", folder, "--undo", folder, input=b"").returncode == 2


def test_filter_answers_a_single_line_at_once(job):
    folder = job()
    command = [sys.executable, "-m", "cgru_cli", "prep", "--apply", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for line in (b"one\n", b"\n", b"three  four\r\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().split() == line.split()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"nobody reads\n" * 100_000)
    assert process.returncode == 0


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_result_is_the_same_after_kills(text, tmp_path):
    pairs = [(f"{s} {i}", f"{t} {i}") for i in range(20) for s, t in PAIRS]
    source, target = text(pairs, "big")
    options = ["-s", source, "-t", target, "--vocabulary-format", "json", "--jobs", "2",
               "--subword-vocabulary", "200"]  # fmt: skip
    started = time.monotonic()
    assert cgru(tmp_path / "whole", *options).returncode == 0
    whole = time.monotonic() - started
    command = [sys.executable, "-m", "cgru_cli", "prep", str(tmp_path / "cut"), *options]
    for share in (0.5, 0.65, 0.8):
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            time.sleep(share * whole)
            process.send_signal(signal.SIGKILL)
            process.communicate()
    done = cgru(tmp_path / "cut", *options)
    assert done.returncode == 0, done.stderr
    assert hashes(tmp_path / "cut") == hashes(tmp_path / "whole")
    assert not (tmp_path / "cut/.prep").exists()


def test_text_to_validate_on_is_drawn_from_the_training_text(job, tmp_path, capfd):
    """By the seed, and disjoint: each pair is in one of the two, with its raw target."""
    repeated = [*PAIRS, *PAIRS[:50], ("a", "A" * 3000)]
    sides = [tmp_path / f"repeated.{side}" for side in ("en", "de")]
    for side, lines in zip(sides, zip(*repeated, strict=True), strict=True):
        side.write_text("".join(f"{line}\n" for line in lines))
    of = {"source": (str(sides[0]),), "target": (str(sides[1]),), "lowercase": True}
    dev = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        folder = job(tmp_path / name, dev_lines=40, seed=seed, vocabulary_format="json", **of)
        rows = {
            part: [
                tuple(Preprocessing.read(folder).undo(line, side) for line, side in pair)
                for pair in zip(
                    *(
                        [
                            (line, side)
                            for line in (folder / f"{part}.{end}").read_text().splitlines()
                        ]
                        for side, end in (("source", "src"), ("target", "trg"))
                    ),
                    strict=True,
                )
            ]
            for part in ("train", "dev")
        }
        assert len(rows["dev"]) == 40 and not set(rows["dev"]) & set(rows["train"])
        known = {(source.lower(), target.lower()): target for source, target in PAIRS}
        assert {*rows["dev"], *rows["train"]} == known.keys()
        assert [known[pair] for pair in rows["dev"]] == (
            folder / "dev.ref"
        ).read_text().splitlines()
        dev.append(rows["dev"])
    assert dev[0] == dev[1] != dev[2]
    assert "260 of 351 pairs kept" in capfd.readouterr().err
    with pytest.raises(CgruError, match="only 300 pairs are left"):
        job(tmp_path / "d", dev_lines=300, **of)
    job(tmp_path / "e", **of)
    assert "no text to validate on" in capfd.readouterr().err


def test_a_folder_of_a_version_without_an_option_is_up_to_date(job, capfd):
    manifest = job() / "manifest.json"
    content = json.loads(manifest.read_text())
    del content["request"]["options"]["dev_lines"]
    manifest.write_text(json.dumps(content))
    job()
    assert "up to date" in capfd.readouterr().err
    with pytest.raises(CgruError, match="--dev-lines was 0, is 5"):
        job(dev_lines=5)
