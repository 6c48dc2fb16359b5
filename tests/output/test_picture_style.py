"""The style of all pictures."""

from pathlib import Path

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.output import picture_style

ROOT = Path(__file__).resolve().parents[2]


def test_matplotlib_knows_every_line_of_the_style():
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib import style

    lines = picture_style.STYLE.read_text().splitlines()
    names = {line.partition(":")[0] for line in lines if line and not line.startswith("#")}
    assert names <= set(matplotlib.rcParams)
    with style.context(picture_style.STYLE):
        assert matplotlib.rcParams["svg.hashsalt"] == "cgru"
        assert not matplotlib.rcParams["axes.spines.top"]


def test_all_pictures_have_the_style():
    """All modules that use matplotlib read the style, and set no rcParams."""
    drawing = [*(ROOT / "cgru_cli").rglob("*.py"), *(ROOT / "recipes").rglob("*.py")]
    texts = {path: path.read_text("utf-8") for path in drawing}
    texts = {path: text for path, text in texts.items() if "FigureCanvasAgg(" in text}
    assert len(texts) == 4
    for path, text in texts.items():
        assert "style.context(" in text and "STYLE" in text, path
        assert "rcParams" not in text and "rc_context" not in text, path


def test_not_installed(monkeypatch):
    monkeypatch.setattr(picture_style.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CgruError, match=r"^--plot needs matplotlib: pip install 'cgru\[plot\]'$"):
        picture_style.check_installed("--plot")
