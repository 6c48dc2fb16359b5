"""The programs in `examples/python` run, with the translations of `cgru translate`."""

import os
import runpy
import subprocess
import sys

import pytest
from documentation import ROOT

from cgru_cli import Translator

EXAMPLES = ROOT / "examples/python"
LINES = ["Where is the station?", "Good morning!", "My sister lives in Berlin."]
GERMAN = ["Wo ist der Bahnhof?", "Guten Morgen!", "Meine Schwester lebt in Berlin."]
pytestmark = pytest.mark.long


def test_fastapi():
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    client = TestClient(runpy.run_path(str(EXAMPLES / "fastapi_app.py"))["app"])
    reply = client.post("/translate", json={"text": f"{LINES[1]} {LINES[0]}\n{LINES[2]}"})
    assert reply.status_code == 200
    assert reply.json()["text"] == f"{GERMAN[1]} {GERMAN[0]}\n{GERMAN[2]}"
    assert -20 < reply.json()["score"] < 0
    refused = client.post("/translate", json={"text": LINES[0], "beam_size": 0})
    assert refused.status_code == 400 and "beam_size" in refused.json()["detail"]


def test_process_pool(tmp_path):
    (tmp_path / "source").write_text("".join(f"{line}\n" for line in LINES * 200))
    command = [sys.executable, EXAMPLES / "process_pool.py", "source", "target"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "target").read_text().splitlines() == GERMAN * 200


def test_data_frame():
    pandas = pytest.importorskip("pandas")
    run = runpy.run_path(str(EXAMPLES / "data_frame.py"))
    translator = Translator(run["MODEL"], normalize=1.0)
    table = pandas.DataFrame({"english": LINES, "number": range(3)})
    found = run["with_translations"](table, translator)
    assert [*found] == ["english", "number", "german", "probability"]
    assert found["german"].tolist() == GERMAN and found["probability"].between(0.5, 1).all()


def test_notebook():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    resources = {"metadata": {"path": str(EXAMPLES)}}
    nbclient.NotebookClient(notebook, timeout=600, resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output["output_type"] for output in outputs] == [
        "execute_result", "execute_result", "stream", "stream",
    ]  # fmt: skip
    assert "Bahnhof" in outputs[1]["data"]["text/html"] and "<" in outputs[1]["data"]["text/html"]
    assert outputs[2]["text"].count("\n") == 4 and GERMAN[0] in outputs[2]["text"]
    assert outputs[3]["text"].splitlines()[0].endswith("▁Wo")
