"""The lessons run, are stored with their output, and use a consistent language."""

import re
import sys
from pathlib import Path

import nbformat
import num2words
import pytest
from documentation import ROOT, commands, of_cgru, parse
from hypothesis import given
from hypothesis import strategies as st
from shared_files import fixture_path

sys.path.insert(0, str(ROOT / "recipes/lessons"))
import deep_cells
import deep_equations
import equations
import lesson
import minimal_cells
import run

pytestmark = pytest.mark.long


NAMES = [path.stem for path in run.LESSONS]
COURSE = NAMES[:-1]  # the last is beside the course
HALVES = pytest.mark.parametrize(
    "lessons", [run.LESSONS[:9], run.LESSONS[9:]], ids=["first", "second"]
)
MODULES = (equations, deep_cells, deep_equations, minimal_cells)
LARGEST = 400_000  # maximal size of a notebook with its plots, in bytes


def _pictures(notebook: nbformat.NotebookNode) -> list[int]:
    """The number of plots of each cell."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [sum("image/png" in o.get("data", {}) for o in cell.outputs) for cell in cells]


def _check_run(lessons: list[Path]) -> None:
    """The notebooks assert their own claims; they draw as many plots as are stored."""
    for path, done in zip(lessons, run.run(lessons), strict=True):
        stored = _pictures(nbformat.read(path, as_version=4))
        assert _pictures(done) == stored and sum(stored) >= 1
        code = [cell.source for cell in done.cells if cell.cell_type == "code"]
        assert any(re.search(r"^ *assert ", source, re.M) for source in code)


@HALVES
def test_the_lessons_run_in_a_small_form(lessons, monkeypatch):
    """Two updates for each training: equations equal models, but nothing is learned."""
    monkeypatch.setenv("LESSONS", "small")
    _check_run(lessons)


@pytest.mark.exhaustive
@HALVES
def test_the_lessons_run(lessons, monkeypatch):
    monkeypatch.delenv("LESSONS", raising=False)
    _check_run(lessons)


def _markdown(name: str) -> str:
    cells = nbformat.read(run.HERE / f"{name}.ipynb", as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("name", COURSE)
def test_a_lesson_has_its_parts(name):
    """The question, typeset equations, NumPy beside cgru, a command, and answered exercises."""
    text = _markdown(name)
    assert re.search(r"^\*\*Question\.\*\* ", text, re.M)
    assert re.search(r"^Course: .+ \d+ minutes\.", text, re.M)
    assert "$$" in text or re.search(r"\| .*\$.+\$.* \|", text)
    exercises = text[text.index("## Exercises") :]
    assert re.findall(r"^(\d)\. ", exercises, re.M) == ["1", "2"]
    assert exercises.count("<details><summary>Answer</summary>") == 2
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)
    found = [words for block in blocks for line in commands(block) if (words := of_cgru(line))]
    assert any(words[0] in ("train", "score") for words in found)
    for words in found:
        parse(words[0], words[1:])
        # a training names a prepared folder, or its text, vocabularies and end
        named = words[1] == "data" or {"-t", "-v", "--after"} <= {*words}
        assert words[0] != "train" or named, words


@pytest.mark.parametrize("name", COURSE)
def test_the_syllabus_says_how_long_a_lesson_takes(name):
    minutes = re.search(r"^Course: .+ (\d+) minutes\.", _markdown(name), re.M)[1]
    row = next(
        line
        for line in (run.HERE / "README.md").read_text("utf-8").splitlines()
        if f"({name}.ipynb)" in line
    )
    assert row.split(" | ")[1] == minutes


def test_lessons_compare_their_numpy_with_the_equations():
    """All but the one on n-grams compute with `equations`, and compare with cgru or each other."""
    for name in COURSE[1:]:
        cells = nbformat.read(run.HERE / f"{name}.ipynb", as_version=4).cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        uses = re.search(r"^(import equations|from equations import)", code, re.M)
        assert name.startswith(("12-", "07-")) or (uses and "np.allclose(" in code), name


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_is_stored_as_it_ran(name):
    path = run.HERE / f"{name}.ipynb"
    assert path.stat().st_size < LARGEST
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert {"error", "stderr"}.isdisjoint(
        {output.output_type for output in outputs} | {output.get("name") for output in outputs}
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_names_existing_files(name):
    path = run.HERE / f"{name}.ipynb"
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert any("cgru_cli/" in link for link in links)
    for link in links:
        assert (run.HERE / link).is_file(), link
    assert f"]({name}.ipynb)" in (run.HERE / "README.md").read_text("utf-8")


def _functions(text: str) -> list[str]:
    """The source of each function in a text."""
    return [f.rstrip() for f in re.findall(r"^def .*?(?=^(?:\S|\Z)|\Z)", text, re.M | re.S)]


def test_equations_have_one_text():
    """The documentation and the lessons show the functions of these files, and only these."""
    plain, cells, deep = (Path(m.__file__).read_text("utf-8") for m in MODULES[:3])
    text = plain + cells
    page = "\n".join(path.read_text("utf-8") for path in (ROOT / "docs").glob("equations*.md"))
    shown = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    steps = {step.__name__ for _, step in equations.TYPES.values()}
    assert steps <= set(re.findall(r"^def (\w+)", "".join(shown), re.M))
    for path in run.LESSONS:
        for cell in nbformat.read(path, as_version=4).cells:
            shown += [o.text for o in cell.get("outputs", []) if "def " in o.get("text", "")]
    functions = [function for one in shown for function in _functions(one)]
    assert len(functions) > 20
    for function in functions:
        assert f"{function}\n\n" in text, function
    imported = [re.findall(r"^(?:import|from) (\w+)", one, re.M) for one in (plain, cells, deep)]
    assert imported[0] == ["itertools", "numpy"]
    outside = {"collections", "dataclasses", "typing", "numpy"}
    assert set(imported[1]) - outside == {"equations"}
    assert set(imported[2]) - outside == {"deep_cells"}


@given(st.integers(0, 999_999))
def test_numbers_are_as_num2words_has_them(n):
    expected = num2words.num2words(n).replace(",", "").replace("-", " ")
    assert " ".join(lesson.english(n)) == expected
    german = num2words.num2words(n, lang="de")
    german = german.replace("hunderteinstausend", "hunderteintausend")  # Duden's spelling
    assert "".join(lesson.german(n)) == german


@pytest.mark.exhaustive
def test_nematus_own_model_opened_up(monkeypatch):
    """The equations of the note give the results of a model trained by Nematus."""
    monkeypatch.setenv("MODEL", str(fixture_path("a-shallow/model.npz")))
    monkeypatch.setenv("LINE", "A man sleeping in a green room on a couch .")
    (done,) = run.run([run.HERE / "13-conditional-gru.ipynb"])
    printed = "".join(o.text for cell in done.cells for o in cell.get("outputs", []) if "text" in o)
    by_numpy, by_cgru = re.findall(r"^(?:NumPy|cgru): +(.+)$", printed, re.M)
    assert by_numpy == by_cgru
