"""Layers, imports and options are as `docs/architecture.md` describes them."""

import ast
import functools
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
from tables import each_row

import cgru_cli
from cgru_cli.cli import main
from cgru_cli.options.convert import ConvertOptions
from cgru_cli.options.flags import effective, statements
from cgru_cli.options.old_programs import OldProgramsOptions
from cgru_cli.options.prep import PrepOptions
from cgru_cli.options.score import ScoreOptions
from cgru_cli.options.serve import ServeOptions
from cgru_cli.options.train import TrainOptions
from cgru_cli.options.translate import TranslateOptions

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "cgru_cli"
OPTIONS = {
    "convert": ConvertOptions,
    "old-programs": OldProgramsOptions,
    "prep": PrepOptions,
    "score": ScoreOptions,
    "serve": ServeOptions,
    "train": TrainOptions,
    "translate": TranslateOptions,
}

# Within a layer, a folder imports only those named before it.
LAYERS = (
    ("errors", "system"),
    ("parameters", "documents", "web", "text", "formats", "corpus", "output"),
    ("network", "search", "optimization"),
    ("options",),
    ("prep", "translate", "convert", "score", "train"),
    ("serve",),
    ("compat",),
    ("__init__", "cli", "__main__"),
)
PLAIN, FILES, COMPUTATION, STATEMENTS, COMMANDS, SERVER, COMPAT, ENTRY = range(len(LAYERS))
RANK = {room: i for i, room in enumerate(room for layer in LAYERS for room in layer)}
LAYER = {room: i for i, layer in enumerate(LAYERS) for room in layer}
# One command reads the files of another, such as those of a prepared folder, or shares its models.
BETWEEN_COMMANDS = {
    ("train.texts", "prep.folder"),
    ("train.missing_vocabularies", "prep.program_vocabularies"),
    ("train.validation", "score.metrics.evaluation"),
    ("score.pairs.pair_scorer", "translate.plan"),
    ("score.pairs.pair_scorer", "translate.translator"),
}
# Programs on top of a translator, and the programs that each of them uses: from the rest of the
# package, they import errors, `system`, the public names, and what declares their options.
DOORS = {"documents": (), "web": (), "serve": ("documents", "web", "options.serve")}
# Packages from outside that each layer may import, besides the standard library and those of lower
# layers.
OUTSIDE = {
    PLAIN: {"msgspec"},
    FILES: {"numpy", "h5py", "sentencepiece", "yaml"},
    COMPUTATION: set(),
    STATEMENTS: set(),
    COMMANDS: set(),
    SERVER: {"starlette", "uvicorn", "prometheus_client"},
    COMPAT: set(),
    ENTRY: {"click"},
}
# The files and folders that may import the libraries that compute: TensorFlow trains, ONNX Runtime
# does everything else.
OF_LIBRARY = {
    "tensorflow": (
        "network.engines.tensorflow",
        "network.engines.scan",
        "network.keras_model",
        "optimization",
    ),
    "keras": ("network.keras_model", "network.keras_data", "optimization"),
}
# The only file below the entry that may import click.
CLICK = "options.click_command"
# Modules below a package's layer that import it inside functions, because only some calls need it.
LATE = {
    "system.tensorflow_start": {"tensorflow", "keras", "google"},  # starts TensorFlow
    "formats.arpa": {"kenlm"},
    "search.runtime": {"onnxruntime"},
    "train.builders": {"tensorflow", "keras"},
    "train.update": {"tensorflow"},
    "train.validation": {"tensorflow"},
    "train.run.saving": {"tensorflow"},
    "train.run.tensorboard": {"tensorflow"},
    "system.structured_files": {"yaml"},
    "system.number_rows": {"numpy"},
    "options.config_file": {"yaml"},
    "prep.folder": {"filelock"},
    "train.run.folder": {"filelock"},
    "output.heatmap.picture": {"matplotlib"},
    "train.run.curves": {"matplotlib"},
    "score.metrics.evaluation": {"sacrebleu"},
    "optimization.minimum_risk": {"sacrebleu"},
    "translate.expected_utility": {"sacrebleu"},
    "text.moses": {"sacremoses"},
    "documents.sentences": {"sentencex"},
    "text.subwords": {"subword_nmt"},
    "score.n_best.weight_search": {"sacrebleu", "scipy"},
    "serve.detection": {"py3langid"},
    "serve.job": {"websockets"},  # used by uvicorn
}


# Imported at the top of a module that is itself imported inside functions.
AT_TOP = {"score.metrics.labels": {"sacrebleu"}}


def _modules() -> dict[str, Path]:
    """Every module by its dotted name below the package; folders are their `__init__`."""
    modules = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        modules[".".join(parts)] = path
    return modules


MODULES = _modules()
FILES_OF_ROOMS = [name for name in MODULES if not name.endswith("__init__")]


class Import(NamedTuple):
    """An imported module of the package, or a package from outside."""

    name: str
    own: bool
    late: bool  # inside a function, or only for type checkers
    alias: str = ""  # the name that is imported from a module of the package


@functools.cache
def _imports(module: str) -> list[Import]:
    tree = ast.parse(MODULES[module].read_text("utf-8"))
    here = module.split(".")[:-1]

    def own(path: list[str], name: str, late: bool) -> Import:
        """`from path import name`, where name is a module or a name in one."""
        for dotted in (".".join([*path, name]), ".".join(path), ".".join([*path, "__init__"])):
            if dotted in MODULES:
                return Import(dotted, True, late, name)
        raise AssertionError(f"{module} imports {'.'.join([*path, name])}, which is not there")

    def walk(node: ast.AST, late: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inside = late or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                inside = True
            if isinstance(child, ast.Import):
                for alias in child.names:
                    assert not alias.name.startswith("cgru_cli"), f"{module}: import {alias.name}"
                    yield Import(alias.name.split(".")[0], False, late)
            elif isinstance(child, ast.ImportFrom):
                path = (child.module or "").split(".") if child.module else []
                if child.level == 0 and path[0] != "cgru_cli":
                    yield Import(path[0], False, late)
                    continue
                start = here[: len(here) - child.level + 1] if child.level else []
                path = start + (path if child.level else path[1:])
                yield from (own(path, alias.name, late) for alias in child.names)
            yield from walk(child, inside)

    return list(walk(tree, False))


def _room(module: str) -> str:
    return module.split(".")[0]


def _is_in(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


def test_every_folder_has_a_layer():
    assert {_room(module) for module in MODULES} == set(RANK)


@each_row("module", FILES_OF_ROOMS)
def test_imports_go_downwards(module):
    room = _room(module)
    for name, own, late, _ in _imports(module):
        if not own or name == "__init__":
            continue
        above = RANK[_room(name)] > RANK[room]
        assert not above, f"{module} imports {name}, which is above it"
        if LAYER[room] == LAYER[_room(name)] == COMMANDS and room != _room(name):
            assert (module, name) in BETWEEN_COMMANDS, f"{module} imports {name}"
        heavy = LAYER[room] > LAYER[_room(name)] == COMPUTATION
        jobs = LAYER[room] == ENTRY and LAYER[_room(name)] in (COMMANDS, SERVER, COMPAT)
        assert late or not (heavy or jobs), f"{module} imports {name} at its top"


@each_row("module", [module for module in FILES_OF_ROOMS if _room(module) in DOORS])
def test_programs_on_top_of_a_translator_use_public_names(module):
    room = _room(module)
    for one in _imports(module):
        if one.own and one.name == "__init__":
            assert one.alias in cgru_cli.__all__, f"{module} imports {one.alias}"
        elif one.own:
            others = {"errors", "system", room, *DOORS[room]}
            assert {one.name, _room(one.name)} & others, f"{module} imports {one.name}"


@each_row("module", FILES_OF_ROOMS)
def test_imports_from_outside(module):
    layer = LAYER[_room(module)]
    allowed = set().union(*(OUTSIDE[below] for below in range(layer + 1)))
    if layer > SERVER:
        allowed -= OUTSIDE[SERVER]
    for name, own, late, _ in _imports(module):
        if own or name in sys.stdlib_module_names:
            continue
        permitted = allowed | (LATE.get(module, set()) if late else AT_TOP.get(module, set()))
        permitted |= {"click"} if module == CLICK else set()
        permitted |= {library for library, places in OF_LIBRARY.items() if _is_in(module, places)}
        assert name in permitted, f"{module} imports {name}"


def test_every_exception_is_needed():
    imported = {
        late: {
            (module, one.name) for module in MODULES for one in _imports(module) if one.late is late
        }
        for late in (False, True)
    }
    exceptions = [(LATE, imported[True]), (AT_TOP, imported[False])]
    for table, found in exceptions:
        given = {(module, name) for module, names in table.items() for name in names}
        dynamic = {(m, n) for m, n in given - found if f'"{n}' in MODULES[m].read_text("utf-8")}
        assert given - found == dynamic  # imported by `installed`
    everywhere = imported[False] | imported[True]
    for library, places in OF_LIBRARY.items():
        for place in places:
            assert any(n == library and _is_in(m, (place,)) for m, n in everywhere), place
    between = {(module, one.name) for module in MODULES for one in _imports(module) if one.own}
    assert between >= BETWEEN_COMMANDS


def test_no_module_needs_itself():
    """Imports inside functions and for types count, but for those of names in `cgru_cli`."""
    needs = {m: {i.name for i in _imports(m) if i.own} for m in MODULES if m != "__init__"}
    needs["network.ops"].remove("network.engines.tensorflow")  # loaded if no engine is chosen
    done = {"__init__"}
    while ready := {m for m in needs if m not in done and needs[m] <= done}:
        done |= ready
    assert done >= set(needs), f"imports in a circle: {sorted(set(needs) - done)}"


@each_row("module", sorted(set(MODULES) - set(FILES_OF_ROOMS) - {"__init__"}))
def test_a_folder_says_what_is_in_it_and_imports_nothing(module):
    tree = ast.parse(MODULES[module].read_text("utf-8"))
    assert ast.get_docstring(tree)
    assert len(tree.body) == 1


@each_row("module", MODULES)
def test_a_module_is_one_concept(module):
    words = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert not words & set(module.split("."))
    length = len(MODULES[module].read_text("utf-8").splitlines())
    if length > 350:
        warnings.warn(f"{module} has {length} lines: is it one concept?", stacklevel=1)
    assert length < 520


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


def test_every_option_is_documented_once():
    index = (ROOT / "docs/options.md").read_text("utf-8")
    sections = dict.fromkeys(re.findall(r"^## cgru ([\w-]+)$", index, re.MULTILINE), "")
    assert set(sections) == set(OPTIONS)
    link = r"^- \[Options of cgru ([\w-]+)[^]]*\]\(([\w-]+\.md)\)"
    for name, page in re.findall(link, index, re.MULTILINE):
        sections[name] += (ROOT / "docs" / page).read_text("utf-8")
    sections["train"] += (ROOT / "docs/options-as-in-marian.md").read_text("utf-8")
    for command, text in sections.items():
        text = text.partition("### Known and refused")[0]
        shown = re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
        expected = [
            ", ".join(f"`{f}`" for f in flag.flags)
            for flag, _ in effective(OPTIONS[command]).values()
        ]
        assert sorted(shown) == sorted(expected)
