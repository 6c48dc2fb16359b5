"""Translations against references: sacreBLEU's own output, and tables of systems."""

import gzip
import json
import re
import subprocess
import sys

import prepared
import pytest
from commands import in_process, one_line
from selection import LONG, choice


@pytest.fixture
def evaluate(tmp_path):
    return in_process("score", tmp_path)


def sacrebleu(*arguments):
    command = [sys.executable, "-m", "sacrebleu", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Two systems and two references with unusual white space and line ends."""
    folder = tmp_path_factory.mktemp("texts")
    lines = {
        "one": ["The cat sat.\r", "A dog\u2028barks  ", "\u00a0It 's\tnot , so", "", "x y z 1.5"],
        "two": ["The cat sits.", "Dogs bark\x85", "It's not so", "what", "x y z 1.5  "],
        "ref": ["The cat sat.", "A dog barks.", "It's not so.", "", "x y z 1.5"],
        "other": ["A cat was sitting.\r", "Dogs\u2028bark.", "It is not so.", "Nothing", "y z"],
    }
    for name, text in lines.items():
        (folder / name).write_bytes("".join(f"{line}\n" for line in text * 9).encode())
    with gzip.open(folder / "one.gz", "wb") as file:
        file.write((folder / "one").read_bytes())
    return folder


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (["--metric", "bleu"], ["-m", "bleu"]),
        (["--metric", "chrf"], ["-m", "chrf"]),
        (["--metric", "chrf++"], ["-m", "chrf", "--chrf-word-order", "2"]),
        (["--metric", "ter"], ["-m", "ter"]),
        (["--metric", "bleu,chrf,ter"], ["-m", "bleu", "chrf", "ter"]),
        (["--metric", "bleu", "--tokenize", "intl"], ["-m", "bleu", "-tok", "intl"]),
        (["--metric", "bleu", "--lowercase", "--width", "4"], ["-m", "bleu", "-lc", "-w", "4"]),
        (
            ["--metric", "bleu", "--confidence", "--samples", "40"],
            ["-m", "bleu", "--confidence", "--confidence-n", "40"],
        ),
    ],
)
@pytest.mark.parametrize("system", choice(["one", "one.gz"], "one", others=LONG))
def test_output_is_sacrebleus(evaluate, texts, ours, theirs, system):
    references = [texts / "ref", texts / "other"]
    expected = sacrebleu(*references, "-i", texts / system, *theirs, "-f", "text")
    flags = [f"--reference={path}" for path in references]
    assert evaluate(*ours, "-t", texts / system, *flags) == (0, expected, "")
    as_json = sacrebleu(*references, "-i", texts / system, *theirs, "-f", "json")
    printed = evaluate(*ours, "-t", texts / system, *flags, "--format", "json")[1]
    assert json.loads(printed) == json.loads(as_json)


@pytest.mark.long
def test_a_system_of_wmt17(evaluate, shared):
    folder = shared("data/wmt17-en-de")
    system = folder / "newstest2017.uedin-nmt.4722.en-de.gz"
    reference = folder / "newstest2017-ende.ref.de.gz"
    code, printed, _ = evaluate("--metric", "bleu", "-t", system, "-r", reference)
    assert (code, printed) == (0, sacrebleu(reference, "-i", system, "-f", "text"))
    assert " = 28.3 " in printed


@pytest.mark.parametrize("test, flag", [("bootstrap", "bs"), ("randomisation", "ar")])
def test_systems_are_compared_with_the_first(evaluate, texts, test, flag):
    systems = [texts / "one", texts / "two"]
    # sacreBLEU's own JSON of the bootstrap fails on a float32
    asked = f"-m bleu chrf --paired-{flag} --paired-{flag}-n 50 -f text -w 3".split()
    table = sacrebleu(texts / "ref", "-i", *systems, *asked)
    chances = re.findall(r"p = ([0-9.]+)", table)
    ours = ["--metric", "bleu,chrf", "-r", texts / "ref", "--paired", test, "--samples", "50"]
    ours += [f"-t{path}" for path in systems]
    printed = json.loads(evaluate(*ours, "--format", "json")[1])
    second = printed["systems"][1]
    assert [f"{second[name]['p']:.4f}" for name in ("bleu", "chrf")] == chances
    for system in printed["systems"]:
        for name in ("bleu", "chrf"):
            assert f"{system[name]['score']:.3f}" in table
    assert f"{flag}:50" in printed["signatures"]["bleu"]
    for form in ("text", "markdown"):
        table = evaluate(*ours, "--format", form)[1]
        assert table.count("p = ") == 2 and f"paired {test}" in table
    plain = [line.split() for line in evaluate(*ours)[1].splitlines()[:3]]
    assert plain[0] == ["system", "bleu", "chrf"]
    assert [row[0] for row in plain[1:]] == list(map(str, systems))


@pytest.mark.parametrize("more", [[], ["--confidence", "--samples", "40"]])
def test_systems_are_rows_of_a_table(evaluate, texts, more):
    systems = [texts / "one", texts / "two"]
    arguments = ["--metric", "bleu,chrf", "-r", texts / "ref", *more]
    code, table, messages = evaluate(*arguments, *(f"-t{path}" for path in systems))
    assert code == 0, messages
    rows = table.splitlines()
    assert [row.split()[0] for row in rows[:3]] == ["system", *map(str, systems)]
    for system, row in zip(systems, rows[1:3], strict=True):
        for metric in ("bleu", "chrf"):
            one = evaluate("--metric", metric, "-r", texts / "ref", "-t", system, *more)[1]
            assert re.search(r"= (\d+\.\d)", one)[1] in row
            assert f"{metric}: {one.split(' = ')[0].split('|', 1)[1]}" in table
    assert table.count("±") == (4 if more else 0)


def test_a_pipe_is_a_system(texts):
    command = prepared.command("score", "--metric", "bleu", "-r", texts / "ref")
    with open(texts / "two", "rb") as file:
        printed = subprocess.run(command, stdin=file, capture_output=True, text=True, check=True)
    assert printed.stdout == sacrebleu(texts / "ref", "-i", texts / "two", "-f", "text")


@pytest.mark.parametrize(
    "arguments, code, part",
    [
        (["-t", "one"], 2, "--metric needs --reference"),
        (["-t", "one", "-r", "short"], 1, "short has 1 lines"),
        (["-t", "empty", "-r", "empty"], 1, "is empty"),
        (["-t", "one", "-r", "no"], 1, "no: No such file"),
        (["-t", "one", "-r", "ref", "-m", "x"], 2, "takes no --model"),
        (["-t", "one", "-r", "ref", "--paired", "bootstrap"], 2, "two or more"),
        (["-t", "one", "-t", "one", "-r", "ref"], 2, "twice"),
        (["-t", "one", "-r", "ref", "--samples", "5"], 2, "--confidence"),
        (
            ["-t", "one", "-r", "ref", "--metric", "meteor"],
            2,
            "--metric meteor: bleu, chrf, chrf++, ter, accuracy, f1, span-f1 are known",
        ),
        (["-t", "one", "-r", "ref", "--tokenize", "nothing"], 2, "--tokenize nothing"),
    ],
)
def test_invalid_options_and_files_are_refused(evaluate, texts, monkeypatch, arguments, code, part):
    monkeypatch.chdir(texts)
    (texts / "short").write_text("x\n")
    (texts / "empty").write_text("")
    returned, printed, messages = evaluate("--metric", "bleu", *arguments)
    one_line((returned, printed, messages), code, part)


def test_reference_needs_a_metric(evaluate, texts):
    printed = evaluate("-t", texts / "one", "--reference", texts / "ref")
    one_line(printed, 2, "--reference needs --metric or --tune")
