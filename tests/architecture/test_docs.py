"""The documentation: every page is linked, links are valid, commands and messages exist."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from command_lines import parsed
from documentation import PAGES, ROOT, commands, name_of, of_cgru, parse, shell_blocks
from tables import each_row

import cgru_cli
from cgru_cli.cli import main


def _text(page: Path) -> str:
    return page.read_text("utf-8")


def _prose(page: Path) -> str:
    """The text of a page without code blocks."""
    return re.sub(r"^(````*)\w*\n.*?^\1$", "", _text(page), flags=re.S | re.M)


# --- pages and links ----------------------------------------------------------------------------


def test_servers_in_production_name_their_host():
    """A proxy passes on the host that it serves; a published port is open to DNS rebinding."""
    page = _text(ROOT / "docs/server.md").replace("\\\n", " ")
    (proxied,) = re.findall(r"^ *server_name (\S+);", page, re.M)
    assert "proxy_set_header Host $host;" in page
    for command, names in (
        (r"^ExecStart=\S+/cgru (serve .*)", (proxied,)),
        (r"^docker run .* cgru +(-m .*)", ("localhost", "127.0.0.1")),
    ):
        (line,) = re.findall(command, page, re.M)
        words = line.removeprefix("serve ").split()
        assert parsed("serve", *words).host_name == names


def test_the_readme_is_short():
    assert len(_text(ROOT / "README.md").splitlines()) <= 200


def _navigation(items: object) -> Iterator[str]:
    if isinstance(items, str):
        yield items
    for item in items.values() if isinstance(items, dict) else items:
        yield from [item] if isinstance(item, str) else _navigation(item)


def test_every_page_is_in_the_navigation():
    """The navigation of the site names pages outside docs/ by their path in the repository."""
    navigation = list(_navigation(yaml.safe_load(_text(ROOT / "mkdocs.yml"))["nav"]))
    assert len(navigation) == len(set(navigation))
    assert set(navigation) == {
        name_of(page).removeprefix("docs/") for page in PAGES if page != ROOT / "README.md"
    }


def test_every_page_is_reached_from_the_index():
    index = ROOT / "docs/index.md"
    reached, pending = set(), [index]
    while pending:
        page = pending.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        pending += [target for target, _ in _links(page) if target.is_file()]
    assert set(PAGES) - reached <= {ROOT / "README.md"}


def _links(page: Path) -> Iterator[tuple[Path, str]]:
    """The files that a page links to, and the headings in them."""
    text = re.sub(r"`[^`\n]+`", "", _prose(page))  # code does not count as a link
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"\w+:", link):
            path, _, heading = link.partition("#")
            yield (page.parent / path).resolve() if path else page, heading


def _headings(page: Path) -> set[str]:
    """The anchors of a page's headings, on GitHub and in the site."""
    titles = re.findall(r"^#+ (.+)$", _prose(page), re.M)
    plain = (re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles)
    return {re.sub(r"\s", "-", title) for title in plain}


LISTS = ("CHANGELOG.md",)  # may be longer


@each_row("page", PAGES, ids=name_of)
def test_pages_can_be_read_in_one_sitting(page):
    assert name_of(page) in LISTS or len(_text(page).split()) <= 3000


@each_row("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target, heading in _links(page):
        assert target.is_file(), f"{target}: no such file"
        assert not heading or heading in _headings(target), f"{target}: no heading {heading}"


@pytest.mark.long
def test_the_site_is_built_strictly(tmp_path):
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", tmp_path / "site"]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "site/tutorial.html").read_text("utf-8")
    assert 'href="recipes/quickstart/' in page  # a page from outside docs/
    assert f"cgru {cgru_cli.__version__}, 20" in page  # in the foot
    assert 'class="admonition warning"' in (tmp_path / "site/how-to/gpu.html").read_text("utf-8")
    equations = (tmp_path / "site/equations.html").read_text("utf-8")
    blocks = _text(ROOT / "docs/equations.md").count("```math")
    assert equations.count('<div class="equation"><math') == blocks > 8
    assert "$`" not in equations and "\\begin" not in equations


def test_equations_name_the_classes_that_compute_them():
    text = _text(ROOT / "docs/equations.md")
    named = re.findall(r"\[`([A-Z]\w*)`\]\(\.\./(\S+?\.py)\)", text)
    assert len(named) >= 6
    for name, path in named:
        assert f"\nclass {name}(" in _text(ROOT / path), name


def test_the_picture_shows_every_folder():
    picture = _text(ROOT / "docs/architecture.svg")
    shown = re.findall(r'class="folder"[^>]*>([^<]+)<', picture)
    folders = {f"{path.parent.name}/" for path in (ROOT / "cgru_cli").glob("*/__init__.py")}
    assert set(shown) == folders | {"errors.py", "cli.py", "__init__.py"}


# --- commands -----------------------------------------------------------------------------------


def test_commands_are_found():
    text = (
        'a="$b" cgru prep "$o/x" -s "${f[@]}" \\\n --lowercase "$@" < "$i" > o | c\n'
        "# cgru prep\n"
        "x | cgru translate -m m -n # why\n"
        "echo 'cgru\ntrain'\n"
    )
    assert [words for words in map(of_cgru, commands(text)) if words] == [
        ["prep", "1/x", "-s", "1", "--lowercase"],
        ["translate", "-m", "m", "-n"],
    ]
    with pytest.raises(click.NoSuchOption):
        parse("train", ["data", "--no-such", "1"])
    with pytest.raises(click.UsageError, match="are the same option"):
        parse("train", ["-b", "1", "--beam-size", "2"])


@each_row("page", PAGES, ids=name_of)
def test_commands_are_understood(page):
    targets = set(re.findall(r"^([a-z-]+):", _text(ROOT / "Makefile"), re.M))
    extras = set(re.findall(r'^        "([a-z]+)": [\[A-Z]', _text(ROOT / "setup.py"), re.M))
    for words in commands(shell_blocks(page)):
        if arguments := of_cgru(words):
            parse(*_split(arguments))
        elif words[:1] == ["make"]:
            assert {word for word in words[1:] if "=" not in word} <= targets
        elif words[:2] == ["pip", "install"]:
            named = re.findall(r"\[(.+?)\]", " ".join(words))
            assert {extra for names in named for extra in names.split(",")} <= extras
        elif words[:1] == ["python"] and words[1:2] and words[1].endswith(".py"):
            assert (ROOT / words[1]).is_file(), words[1]
        script = next((word for word in words if word.startswith("recipes/")), None)
        if script and (ROOT / script).is_dir():
            assert words[0] == "jupyter"
        elif script and words[0] != "python":
            _check_recipe(script, words)


def _split(arguments: list[str]) -> tuple[str, list[str]]:
    command, *rest = arguments
    return command, rest


def _check_recipe(script: str, words: list[str]) -> None:
    """Check that the script exists and supports these variables and options."""
    source = _text(ROOT / script)
    rest = words[words.index(script) + 1 :]
    if words[0] == "spark-submit":
        corpus, out, *options = rest
        assert not (corpus + out).startswith("-")
        parse("translate", options)
        return
    for word in words[: words.index(script)]:
        variable = word.partition("=")[0]
        assert f"${{{variable}:" in source, f"{script} takes no {variable}"
    if script == "recipes/old-scripts/run.sh":
        assert len(rest) >= 2 and all(one.endswith(".sh") for one in rest[1:])
    elif script.endswith("translate.sh"):
        parse("translate", rest[rest.index("--") + 1 :] if "--" in rest else [])
    else:
        types = re.findall(r"cgru train (--type [a-z]+)", source)  # which `rest` may need
        parse("train", ["data", *" ".join(types[:1]).split(), *rest])


def test_every_command_is_shown():
    shown = {of_cgru(words)[0] for words in commands(_all_blocks()) if of_cgru(words)}
    assert shown == set(main.list_commands(click.Context(main)))


def _all_blocks() -> str:
    return "\n".join(map(shell_blocks, PAGES))


# --- pages made from the code -------------------------------------------------------------------


def _generator():
    path = ROOT / "docs/generate.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATED = _generator().PAGES


@each_row("page", GENERATED)
def test_documentation_is_up_to_date(page):
    assert _text(ROOT / "docs" / page) == GENERATED[page](), "run `make docs`"


def test_every_command_has_a_page_of_the_manual():
    pages = {f"cgru-{name}.1" for name in main.commands} | {"cgru.1"}
    assert {path.name for path in (ROOT / "docs/man").iterdir()} == pages
    assert {name for name in GENERATED if name.startswith("man/")} == {f"man/{p}" for p in pages}


# --- messages -----------------------------------------------------------------------------------


def _templates() -> set[str]:
    """Every string in the code, with `...` for computed parts."""
    texts = set()
    for path in (ROOT / "cgru_cli").rglob("*.py"):
        for node in ast.walk(ast.parse(_text(path))):
            if isinstance(node, ast.JoinedStr):
                parts = [p.value if isinstance(p, ast.Constant) else "..." for p in node.values]
                texts.add("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
    return texts


def test_messages_in_the_documentation_are_those_of_the_code():
    pages = map(_prose, (ROOT / "docs").glob("messages-*.md"))
    pages = "\n".join([_prose(ROOT / "docs/troubleshooting.md"), *pages])
    quoted = re.findall(r"^\| `([^`|]+)` \|", pages, re.M)
    templates = sorted(_templates())
    assert len(quoted) > 50
    missing = []
    for message in quoted:
        parts = (part.strip(" :;,()") for part in message.split("..."))
        pattern = ".*".join(map(re.escape, filter(None, parts)))
        assert pattern, message
        if not any(re.search(pattern, text, re.S) for text in templates):
            missing.append(message)
    assert not missing, "\n".join(missing)


# --- versions -----------------------------------------------------------------------------------


def test_versions_agree():
    assert re.fullmatch(r"\d+\.\d+\.\d+", cgru_cli.__version__)
    sections = re.findall(r"^## \[(.+?)\](?: - (.+))?$", _text(ROOT / "CHANGELOG.md"), re.M)
    released = [section for section in sections if section[0] != "Unreleased"]
    assert released[0][0] == cgru_cli.__version__
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for _, date in released)
    citation = yaml.safe_load(_text(ROOT / "CITATION.cff"))
    assert citation["version"] == cgru_cli.__version__
    assert str(citation["date-released"]) == released[0][1]
    stated = subprocess.run(
        [sys.executable, "setup.py", "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert stated.stdout.split()[-1] == cgru_cli.__version__
