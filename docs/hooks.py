"""MkDocs hooks that add to the site every file of the repository that a page links to.

Pages link to each other by their paths in the repository, so that the links work there. These hooks
add pages outside docs/ to the site under their paths, show source files as pages, adapt the links,
and typeset equations as MathML, which browsers draw without scripts or fonts from elsewhere.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import yaml
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
AS_THEY_ARE = {".md", ".svg", ".png", ".html", ".txt", ".ipynb"}
LEXERS = {".py": "python", ".sh": "bash", ".toml": "toml", ".txt": "text", ".yml": "yaml"}


def _target(page: str, link: str) -> str:
    """The path in the repository of a page's link."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _in_site(path: str) -> str:
    """The path in the site of a file of the repository."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path if Path(path).suffix in AS_THEY_ARE else f"{path}.md"


def _in_repository(site: str) -> str:
    """The file in the repository of a page of the site."""
    if (ROOT / "docs" / site).exists():
        return f"docs/{site}"
    return site if (ROOT / site).exists() else site.removesuffix(".md")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add all files that pages link to, directly or indirectly."""
    pending = [_in_repository(file.src_uri) for file in files.documentation_pages()]
    pending += [site for site in _named(config.nav) if not (ROOT / "docs" / site).exists()]
    seen: set[str] = set()
    while pending:
        path = pending.pop()
        source = ROOT / path
        if path in seen or path == "README.md" or not source.is_file():
            continue
        seen.add(path)
        site = _in_site(path)
        if files.get_file_from_path(site) is None:
            files.append(_file(path, site, config))
        if source.suffix == ".md":
            pending += [_target(path, link) for link in LINK.findall(source.read_text("utf-8"))]
    return files


def _named(nav: object) -> list[str]:
    """The files that the navigation names."""
    if isinstance(nav, str):
        return [nav]
    items = nav.values() if isinstance(nav, dict) else nav
    return [name for item in items for name in _named(item)]  # type: ignore[attr-defined]


def _file(path: str, site: str, config: MkDocsConfig) -> File:
    source = ROOT / path
    if source.suffix in AS_THEY_ARE:
        return File.generated(config, site, abs_src_path=str(source))
    lexer = LEXERS.get(source.suffix, "text")
    content = f"# {path}\n\n````{lexer}\n{source.read_text('utf-8')}````\n"
    return File.generated(config, site, content=content)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Show the version and its date in the footer of every page."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    config.copyright = f"cgru {citation['version']}, {citation['date-released']}"
    return config


ALERT = re.compile(r"^> \[!(\w+)\]\n((?:>.*\n?)+)", re.M)


def _admonition(match: re.Match[str]) -> str:
    """An alert in the form of GitHub as an admonition of the site."""
    lines = (f"    {line.removeprefix('>').strip()}".rstrip() for line in match[2].splitlines())
    return "\n".join((f"!!! {match[1].lower()}\n", *lines)) + "\n"


EQUATION = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
INLINE_EQUATION = re.compile(r"\$`([^`]+)`\$")


def _typeset(markdown: str) -> str:
    """LaTeX in GitHub's notation, a block ```math or inline $`...`$, as MathML."""

    def block(match: re.Match[str]) -> str:
        return f'<div class="equation">{convert(match[1].strip(), display="block")}</div>'

    markdown = EQUATION.sub(block, markdown)
    return INLINE_EQUATION.sub(lambda match: convert(match[1]), markdown)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adapt links to files of the repository, alerts and equations to the site."""
    here = page.file.src_uri
    repository = _in_repository(here)

    def adapted(match: re.Match[str]) -> str:
        target = _in_site(_target(repository, match.group(1)))
        return f"]({posixpath.relpath(target, posixpath.dirname(here) or '.')}"

    if not repository.endswith(".md"):
        return markdown
    return _typeset(ALERT.sub(_admonition, LINK.sub(adapted, markdown)))
