"""Heat maps as pictures."""

import io
import struct
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from cgru_cli.errors import CgruError
from cgru_cli.output.heatmap import picture
from cgru_cli.output.heatmap.view import Sentence, View

pytest.importorskip("matplotlib")


def view(source, target, name="model.npz", probabilities=True):
    T, S = len(target), len(source)
    weights = np.random.default_rng(3).dirichlet(np.ones(S), T).astype(np.float32)
    return View(name, source, target, weights, weights[:, 0] if probabilities else None)


def draw(kind, *sentences, title="Attention of model.npz"):
    file = io.BytesIO()
    picture.draw(file, kind, title, sentences)
    return file.getvalue()


def svg_texts(data):
    root = ET.fromstring(data)
    return ["".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")]


def test_svg_has_every_word_as_text():
    source = ["<script>alert(1)</script>", "&", "$x^2$", "_", "</s>"]
    first = view(source, ["Mann", "ذهب", "</s>"])
    texts = svg_texts(draw("svg", Sentence(3, [first, first._replace(name="b")]), title="<&>"))
    for word in ("&", "$x^2$", "Mann", "ذهب", "Line 3, model.npz", "Line 3, b"):
        assert word in texts
    assert "<script>alert(1)</scrip…" in texts
    for probability in first.probabilities:
        assert f"{probability:.2f}" in texts


def test_svg_is_the_same_every_time():
    sentence = Sentence(1, [view(["a", "</s>"], ["A", "</s>"])])
    assert draw("svg", sentence) == draw("svg", sentence)


def size(png):
    assert png.startswith(b"\x89PNG")
    return struct.unpack(">II", png[16:24])


def test_png_grows_with_lines_views_and_words():
    small = view(["a", "</s>"], ["A", "</s>"], probabilities=False)
    large = view(["a"] * 30, ["A"] * 20)
    one = size(draw("png", Sentence(1, [small])))
    two = size(draw("png", Sentence(1, [small]), Sentence(2, [small])))
    side = size(draw("png", Sentence(1, [small, small])))
    big = size(draw("png", Sentence(1, [large])))
    assert two[1] > 1.5 * one[1]
    assert side[0] > 1.5 * one[0]
    assert big[0] > one[0] + 28 * 0.2 * 130
    assert big[1] > one[1] + 18 * 0.2 * 130


def test_shades_are_the_weights(monkeypatch):
    from matplotlib.axes import Axes

    shown = []
    plain = Axes.imshow
    monkeypatch.setattr(
        Axes, "imshow", lambda self, data, **more: shown.append(data) or plain(self, data, **more)
    )
    one, other = view(["a"] * 4, ["A"] * 3), view(["ذهب"] * 4, ["A"] * 2)
    draw("svg", Sentence(1, [one]), Sentence(2, [other]))
    np.testing.assert_array_equal(shown[0], one.weights)
    np.testing.assert_array_equal(shown[1], other.weights)


def test_missing_characters_in_fonts(capsys):
    draw("png", Sentence(1, [view(["\U0001f9e9\ue123", "</s>"], ["A", "</s>"])]))
    assert "appear as boxes" in capsys.readouterr().err
    draw("png", Sentence(1, [view(["plain", "</s>"], ["A", "</s>"])]))
    assert capsys.readouterr().err == ""


def test_too_large():
    huge = view(["a"] * 900, ["A"] * 900)
    with pytest.raises(CgruError, match="choose fewer lines with --heatmap-lines"):
        draw("png", *(Sentence(n, [huge]) for n in range(1, 4)))


def test_legend_is_in_percent():
    views = [view(["a", "</s>"], ["A"] * 6) for _ in range(2)]
    texts = svg_texts(draw("svg", Sentence(1, views), Sentence(2, views[:1])))
    assert texts.count("100 %") == texts.count("0 %") == 2, "one beside the panels of each line"
