"""The house: layers, documentation and versions are as they are said to be."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import click
import numpy as np
import pytest
from models import random_arrays, tiny

import cgru_cli
from cgru_cli import archive
from cgru_cli.cli import main
from cgru_cli.options import REFUSED_BY_TRANSLATE, ConvertOptions, TranslateOptions, statements
from cgru_cli.prep_options import PrepOptions
from cgru_cli.score_options import REFUSED_BY_SCORE, ScoreOptions
from cgru_cli.train_options import REFUSED_BY_TRAIN, TrainOptions

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cgru_cli"
MODULES = {path.stem: path for path in sorted(PACKAGE.glob("*.py"))}
README = (ROOT / "README.md").read_text("utf-8")
OPTIONS = {
    "convert": ConvertOptions,
    "prep": PrepOptions,
    "score": ScoreOptions,
    "train": TrainOptions,
    "translate": TranslateOptions,
}

# The layers themselves are the table in README.md. What each may import from outside, beyond the
# standard library and what the layers below may:
OUTSIDE = {
    0: set(),
    1: {"numpy", "h5py", "sentencepiece", "yaml"},
    2: {"tensorflow", "keras"},
    3: set(),
    4: {"click"},
}
# Imported inside functions, where only some calls need it: by these below its layer.
LATE = {
    "runtime": {"tensorflow", "keras"},  # starts it
    "workers": {"tensorflow"},  # knows Slurm
    "checkpoint": {"tensorflow"},  # the one format that only TensorFlow reads
    "settings": {"yaml"},
    "manifest": {"filelock"},
    "run_folder": {"filelock"},
    "train_config": {"yaml"},
    "heatmap_plot": {"matplotlib"},
    "learning_curves": {"matplotlib"},
    "evaluation": {"sacrebleu"},
    "validation": {"sacrebleu"},
    "minimum_risk": {"sacrebleu"},
    "moses": {"sacremoses"},
    "subwords": {"subword_nmt"},
    "tuning": {"sacrebleu", "scipy"},
}


def _layers() -> dict[str, int]:
    rows = re.findall(r"^\| (\d) \w+ \|[^|]*\|([^|]*)\|$", README, re.MULTILINE)
    pairs = [(m, int(layer)) for layer, names in rows for m in re.findall(r"`(\w+)`", names)]
    assert len(pairs) == len(dict(pairs)), "a module stands in two layers"
    return dict(pairs)


LAYERS = _layers()


def _imports(module: str):
    """(top-level name or module of the package, whether of the package, whether in a function)."""
    tree = ast.parse(MODULES[module].read_text("utf-8"))

    def walk(node, late):
        for child in ast.iter_child_nodes(node):
            inside = late or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                inside = True
            if isinstance(child, ast.Import):
                for alias in child.names:
                    top, _, rest = alias.name.partition(".")
                    own = top == "cgru_cli"
                    yield (rest or "__init__") if own else top, own, late
            elif isinstance(child, ast.ImportFrom):
                name = child.module or ""
                if child.level == 0 and name.split(".")[0] != "cgru_cli":
                    yield name.split(".")[0], False, late
                    continue
                name = name.removeprefix("cgru_cli").lstrip(".")
                if name:
                    yield name, True, late
                else:  # from . import a, b
                    for alias in child.names:
                        yield alias.name if alias.name in MODULES else "__init__", True, late
            yield from walk(child, inside)

    return list(walk(tree, False))


def test_every_module_has_a_layer():
    assert set(LAYERS) == set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_downwards(module):
    layer = LAYERS[module]
    for name, own, late in _imports(module):
        if own:
            assert LAYERS[name] <= layer, f"{module} imports {name} from above"
            above = LAYERS[name] == 2 < layer or LAYERS[name] == 3 < layer
            assert late or not above, f"{module} imports {name} at start"


@pytest.mark.parametrize("module", MODULES)
def test_imports_from_outside(module):
    layer = LAYERS[module]
    allowed = set().union(*(OUTSIDE[below] for below in range(layer + 1)))
    if layer > 2:
        allowed -= OUTSIDE[2]
    for name, own, late in _imports(module):
        if own or name in sys.stdlib_module_names:
            continue
        permitted = allowed | (LATE.get(module, set()) if late else set())
        permitted |= OUTSIDE[2] if late and layer > 2 else set()
        assert name in permitted, f"{module} (layer {layer}) imports {name}"


def test_no_module_needs_itself():
    needs = {m: {n for n, own, late in _imports(m) if own and not late} for m in MODULES}
    done: set[str] = set()
    while ready := {m for m in needs if m not in done and needs[m] <= done | {"__init__"}}:
        done |= ready
    assert done == set(MODULES), f"imports in a circle: {sorted(set(MODULES) - done)}"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_one_concept(module):
    assert module not in ("utils", "util", "helpers", "helper", "common", "misc")
    length = len(MODULES[module].read_text("utf-8").splitlines())
    if length > 350:
        warnings.warn(f"{module}.py has {length} lines: is it one concept?", stacklevel=1)
    assert length < 520


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["convert", "--help"], ["prep", "--help"], ["translate", "--help"]],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments):
    script = (
        "import sys\n"
        "from cgru_cli.cli import main\n"
        f"code = main({arguments!r}, standalone_mode=False)\n"
        "heavy = {'tensorflow', 'keras', 'numpy', 'h5py', 'sentencepiece', 'yaml', 'sacrebleu'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.strip() == ""
    assert done.stdout


def _load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_convert_imports_no_tensorflow(tmp_path):
    structure = tiny(source_embeddings=(5,))
    model = tmp_path / "model.npz"
    archive.write_npz(model, random_arrays(structure) | {"decoder_c_tt": np.zeros(1, np.float32)})
    names = [f"{side}.json" for side in ("src", "trg")]
    for name, size in zip(names, (7, 6), strict=True):
        words = {word: i for i, word in enumerate(["eos", "UNK", *"abcde"][:size])}
        (tmp_path / name).write_text(json.dumps(words))
    configuration = {"dim_word": 5, "dim": 4, "model_version": 0.1, "dictionaries": names}
    (tmp_path / "model.npz.json").write_text(json.dumps(configuration))
    runs = [
        [str(model), "--info"],
        [str(model), str(tmp_path / "model.h5"), "--verify"],
        [str(tmp_path / "model.h5"), str(tmp_path / "m.npz"), "--to", "marian-s2s", "--verify"],
        [str(model), str(tmp_path / "missing" / "m.npz")],
    ]
    script = (
        "import sys\n"
        "import cgru_cli.translate\n"
        "from cgru_cli.cli import main\n"
        f"codes = [main(['convert', *run], standalone_mode=False) for run in {runs!r}]\n"
        "sys.exit('tensorflow' in sys.modules or codes != [None, None, None, 1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_command_and_option_has_help():
    context = click.Context(main)
    assert main.help
    assert set(main.list_commands(context)) == set(OPTIONS)
    for name in OPTIONS:
        command = main.get_command(context, name)
        assert command.help, name
        options = statements(OPTIONS[name])
        for option, (flag, _) in options.items():
            assert flag.help.strip(), f"{name} {option}"
            assert not flag.help.endswith("."), f"{name} {option}"
        flags = [f for flag, _ in options.values() for f in (*flag.flags, *flag.aliases)]
        assert len(flags) == len(set(flags)), f"{name}: a flag is stated twice"
        refused = {
            "score": REFUSED_BY_SCORE,
            "train": REFUSED_BY_TRAIN,
            "translate": REFUSED_BY_TRANSLATE,
        }
        assert not set(flags) & set(refused.get(name, ()))


@pytest.mark.parametrize("page", ["options.md", "names.md"])
def test_documentation_is_up_to_date(page):
    generate = _load(ROOT / "docs/generate.py")
    assert set(generate.PAGES) == {"options.md", "names.md"}
    assert (ROOT / "docs" / page).read_text("utf-8") == generate.PAGES[page](), "run `make docs`"


def test_every_option_is_documented_once():
    page = (ROOT / "docs/options.md").read_text("utf-8")
    sections = dict(re.findall(r"^## cgru (\w+)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    assert set(sections) == set(OPTIONS)
    for command, text in sections.items():
        shown = re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
        expected = [
            ", ".join(f"`{f}`" for f in flag.flags)
            for flag, _ in statements(OPTIONS[command]).values()
        ]
        assert shown == expected


PAGES = [ROOT / folder / "README.md" for folder in (".", "recipes", "benchmarks", "docs/gallery")]


def _shell_commands():
    for page in PAGES:
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.S | re.M):
            block = re.sub(r"(?m)(^|\s)#.*$", "", block)
            for command in re.split(r"[|;\n]|&&", block):
                if words := command.split():
                    yield words


def test_commands_in_the_documentation_exist():
    seen = set()
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    for words in _shell_commands():
        program, *rest = words
        if program == "make":
            assert {word for word in rest if "=" not in word} <= targets
        elif program.startswith("recipes/"):
            assert (ROOT / program).is_file()
            rest = rest[rest.index("--") + 1 :] if "--" in rest else []
            _check_options("translate", rest)
        elif program == "python":
            assert (ROOT / rest[0]).is_file()
        elif program == "cgru":
            _check_options(rest[0], rest[1:])
            seen.add(rest[0])
    assert seen == set(OPTIONS)


def _check_options(command: str, words: list[str]) -> None:
    known = {"--help", "-h"}
    for flag, _ in statements(OPTIONS[command]).values():
        known |= {*flag.flags, *flag.aliases}
    for word in words:
        if word.startswith("-") and not re.match(r"-\d", word):
            assert word.partition("=")[0] in known, f"README: cgru {command} {word}"


def test_links_lead_somewhere():
    for page in (*PAGES, ROOT / "CHANGELOG.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if "://" not in link:
                assert (page.parent / link).exists(), link


def test_versions_agree():
    from importlib import metadata

    assert re.fullmatch(r"\d+\.\d+\.\d+", cgru_cli.__version__)
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## \[(.+?)\]", changelog, re.M).group(1) == cgru_cli.__version__
    try:
        installed = metadata.version("cgru")
    except metadata.PackageNotFoundError:
        pytest.skip("run from the sources")
    assert installed == cgru_cli.__version__
