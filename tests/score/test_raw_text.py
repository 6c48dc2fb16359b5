"""Raw text is scored as its model's preprocess.json prepares it, on both sides and in lists."""

import json

import pytest
from commands import in_process, output_lines, write_model

from cgru_cli.text import pipeline

pytestmark = pytest.mark.usefixtures("prepared_once")


def test_raw_text_of_a_model_with_preprocessing(tmp_path):
    path = write_model(tmp_path / "m", target=["eos", "UNK", "a", "b", ",", "c@@", "d", "!"])
    settings = pipeline.PipelineSettings(
        languages=("en", "de"), tokenize=True, case="lower", pieces=True, subwords="subword-nmt"
    )
    made = pipeline.Preprocessing(settings, subword_models=("#version: 0.2\nx y</w>\n",))
    with open(f"{path}.preprocess.json", "w") as file:
        json.dump(made.as_json(), file)
    texts = {"raw.en": "A b, C\n", "raw.de": "A, B!\n", "en": "a b , c\n", "de": "a , b !\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "list").write_text("0 ||| A, B! ||| F= 1 ||| 1\n")
    lines = output_lines(in_process("score", tmp_path))
    raw = ["-s", tmp_path / "raw.en"]
    scored = lines("-m", path, *raw, "-t", tmp_path / "raw.de", "--word-scores")
    prepared = ["-s", tmp_path / "en", "-t", tmp_path / "de", "--word-scores"]
    assert scored == lines("-m", path, *prepared, "--no-preprocess")
    assert len(scored[0].partition("WordScores=")[2].split()) == 5
    unprepared = lines("-m", path, *raw, "-t", tmp_path / "raw.de", "--no-preprocess")
    assert unprepared[0].split()[0] != scored[0].split()[0]
    (entry,) = lines("-m", path, *raw, "--n-best", tmp_path / "list")
    assert f"Score= {float(scored[0].split()[0]):.6g} " in entry
