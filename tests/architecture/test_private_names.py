"""Private names of other packages in use: each is listed here, and its package has an upper bound.

A package may change its private names in any version, so its version must stay below the first one
that was not tested. To allow a new version in requirements.txt, run the tests with it.
"""

import ast
import re
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Private names by module, with the package that they belong to.
PRIVATE = {
    "optimization/optimizers.py": {
        # the optimizer's variables of a parameter, for a fused update
        "keras": {"_get_variable_index", "_momentums", "_velocities", "_accumulators"},
    },
    "score/metrics/labels.py": {
        # sacrebleu resamples the label metrics
        "sacrebleu": {
            "_cache_references",
            "_compute_score_from_stats",
            "_extract_corpus_statistics",
        },
    },
    "score/n_best/weight_search.py": {
        # BLEU and chrF of many selections from an n-best list, from cached counts
        "sacrebleu": {"_extract_corpus_statistics", "_compute_score_from_stats"},
    },
}
# Named by a string: the method that would sum the gradients of devices a second time, and parts of
# an interface that are loaded on demand.
IN_STRINGS = {
    "optimization/optimizers.py": {"keras": {"_all_reduce_sum_gradients"}},
}
PUBLIC = {"_replace", "_asdict", "_fields", "_make", "_exit"}  # documented, of the standard library


def _trees() -> dict[str, ast.AST]:
    package = ROOT / "cgru_cli"
    return {
        path.relative_to(package).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(package.rglob("*.py"))
    }


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in PUBLIC


def _own_names(trees: dict[str, ast.AST]) -> set[str]:
    """All names that the package itself defines or assigns."""
    names: set[str] = set()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def test_every_private_name_is_named_here():
    trees = _trees()
    # a name declared in a mixin still belongs to the other class
    own = _own_names(trees) - {name for _, _, name in _stated()}
    used: dict[str, set[str]] = {}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            names = [node.attr] if isinstance(node, ast.Attribute) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [part for part in (node.module or "").split(".") if part]
                names += [alias.name for alias in node.names]
            for name in names:
                if _is_private(name) and name not in own:
                    used.setdefault(module, set()).add(name)
    stated = {module: set().union(*names.values()) for module, names in PRIVATE.items()}
    assert used == stated


def _stated() -> list[tuple[str, str, str]]:
    return [
        (module, package, name)
        for table in (PRIVATE, IN_STRINGS)
        for module, packages in table.items()
        for package, names in packages.items()
        for name in sorted(names)
    ]


@pytest.mark.parametrize(("module", "package", "name"), _stated())
def test_the_installed_version_has_it(module, package, name):
    assert name in (ROOT / "cgru_cli" / module).read_text("utf-8")
    sources = [
        path
        for path in metadata.files(package) or ()
        if path.suffix == ".py" and "test" not in path.stem
    ]
    assert any(re.search(rf"\b{name}\b", path.locate().read_text("utf-8")) for path in sources)


@pytest.mark.parametrize("package", sorted({package for _, package, _ in _stated()}))
def test_its_package_has_an_upper_bound(package):
    requirements = (ROOT / "requirements.txt").read_text("utf-8")
    assert re.search(rf"^{package}>=[\d.]+,<[\d.]+$", requirements, re.M)
