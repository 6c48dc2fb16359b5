"""Learning curves from the records of a training run."""

import json
from pathlib import Path

import pytest

from cgru_cli.cli import main
from cgru_cli.errors import CgruError
from cgru_cli.options.train import LOWER_IS_BETTER
from cgru_cli.train.run import curves


def write(path, *entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def train(update, cost, kind="cross-entropy"):
    return {"type": "train", "update": update, "cost_type": kind, "cost": cost}


def valid(update, value, metric="cross-entropy"):
    return {"type": "valid", "update": update, "metric": metric, "value": value}


def test_curves(tmp_path):
    records = write(
        tmp_path / "r",
        train(1, 5.0),
        valid(2, 10.0, "bleu"),
        train(2, 4.0),
        valid(2, 4.5),
        {"type": "data", "update": 2},
        valid(4, None),
        train(4, 3.0),
        valid(4, 20.5, "bleu"),
        valid(4, 1, "unheard-of"),
    )
    with open(records, "a") as file:
        file.write('not JSON\n[]\n{"type": "train"}\n{"type": "train", "upda')
    found = curves.curves(records)
    assert found == {
        "cross-entropy": {"training": [(1, 5.0), (2, 4.0), (4, 3.0)], "validation": [(2, 4.5)]},
        "bleu": {"validation": [(2, 10.0), (4, 20.5)]},
    }
    assert list(found) == ["cross-entropy", "bleu"]


def test_costs_are_drawn_per_word(tmp_path):
    records = write(tmp_path / "r", train(1, 50.0) | {"cost_per_word": 5.0}, valid(1, 40.0))
    assert curves.curves(records) == {
        "cross-entropy": {"validation": [(1, 40.0)]},
        "ce-mean-words": {"training": [(1, 5.0)]},
    }


def test_training_and_validation_share_a_panel_of_nats_per_word(tmp_path):
    """A later record of the same update, such as of the metric of this name, has the same value."""
    records = write(
        tmp_path / "r",
        train(1, 50.0) | {"cost_per_word": 5.0},
        valid(1, 40.0) | {"cost_per_word": 4.0},
        valid(1, 4.0, "ce-mean-words"),
    )
    assert curves.curves(records) == {
        "ce-mean-words": {"training": [(1, 5.0)], "validation": [(1, 4.0)]},
    }


def test_runs_in_one_picture(tmp_path, monkeypatch, capsys):
    """`cgru train --curves` needs no model, no text and no TensorFlow, and writes only pictures."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    for name, costs in (("a", (9, 8)), ("b", (7, 6))):
        entries = [train(n, cost) for n, cost in enumerate(costs, 1)]
        write(tmp_path / f"{name}.npz.metrics.jsonl", *entries, valid(2, 5.0, "chrf"))
    main(["train", "--curves", "a.npz"], standalone_mode=False)
    main(["train", "--curves", "a.npz", "b.npz", "-q"], standalone_mode=False)
    assert capsys.readouterr().err == "cgru: train: wrote a.npz.png, a.npz.svg\n"
    alone, together = (Path(name).read_text() for name in ("a.npz.svg", "curves.svg"))
    assert ">training</text>" in alone and ">chrF</text>" in alone
    for legend in ("a.npz, training", "b.npz, training", "a.npz, validation", "b.npz, validation"):
        assert f">{legend}</text>" in together
    pictures = {"a.npz.png", "a.npz.svg", "curves.png", "curves.svg"}
    records = {"a.npz.metrics.jsonl", "b.npz.metrics.jsonl"}
    assert {path.name for path in tmp_path.iterdir()} == pictures | records


def test_runs_that_cannot_be_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    write(tmp_path / "new.npz.metrics.jsonl")
    for name, message in (("none", "missing, so"), ("new", "nothing to draw yet")):
        assert (
            main(["train", "--curves", str(tmp_path / f"{name}.npz")], standalone_mode=False) == 1
        )
        assert message in capsys.readouterr().err


def test_smoothing_keeps_a_line_and_removes_a_zigzag():
    line = [float(n) for n in range(100)]
    assert curves.smoothed(line) == pytest.approx(line)
    zigzag = curves.smoothed([(-1.0) ** n for n in range(100)])
    assert max(map(abs, zigzag[2:-2])) == pytest.approx(1 / 5)


def test_the_risk_of_minimum_risk_training_has_a_curve(tmp_path):
    records = write(tmp_path / "r", train(1, 0.9, "risk"), valid(1, 3.0, ["bleu"]))
    assert curves.curves(records) == {"risk": {"training": [(1, 0.9)]}}


def test_every_metric_has_a_curve(tmp_path):
    entries = [valid(1, 0.5, metric) for metric in LOWER_IS_BETTER]
    found = curves.curves(write(tmp_path / "r", *entries))
    assert found.keys() == LOWER_IS_BETTER.keys()


def test_no_records(tmp_path):
    with pytest.raises(CgruError, match="none: No such file"):
        curves.curves(tmp_path / "none")


@pytest.mark.long
def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    model = tmp_path / "model.npz"
    records = write(tmp_path / "r", *(train(n, 9 / n) for n in range(1, 60)), valid(30, 1, "chrf"))
    curves.draw(records, model)
    assert (tmp_path / "model.npz.png").read_bytes().startswith(b"\x89PNG")
    picture = (tmp_path / "model.npz.svg").read_text()
    assert "chrF" in picture or "<path" in picture
    curves.draw(records, model)
    assert (tmp_path / "model.npz.svg").read_text().count("<svg") == 1


def test_a_metric_without_a_title_has_its_name(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(curves, "_TITLES", {})
    curves.draw(write(tmp_path / "r", valid(1, 9.0, "perplexity")), tmp_path / "model.npz")
    assert ">perplexity</text>" in (tmp_path / "model.npz.svg").read_text()


def test_nothing_to_draw(tmp_path):
    pytest.importorskip("matplotlib")
    curves.draw(write(tmp_path / "r"), tmp_path / "model.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_legends_do_not_cover_the_data(tmp_path, monkeypatch):
    """Legends stand above their panel."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda f, *a, **k: (save(f, *a, **k), drawn.append(f)))
    records = write(tmp_path / "r", *(train(n, 9 / n) for n in range(1, 9)), valid(4, 2.0))
    curves.draw(records, tmp_path / "model.npz")
    for axes in drawn[0].axes:
        assert axes.get_legend().get_window_extent().y0 >= axes.bbox.y1 - 1
