"""Clients of Nematus' server get the answers that they expect."""

import pytest


def translated(web, segments, **more):
    """Send a request like `translate_segments` of Nematus' sample_client.py."""
    headers = {"content-type": "application/json"}
    answer = web.post("/translate", headers=headers, json={"segments": segments} | more)
    assert answer.status_code == 200, answer.text
    return [segment["translation"] for segment in answer.json()["data"]]


def test_translations_are_those_of_nematus(legacy):
    segments = [line.split() for line in legacy.read("src.txt").splitlines()]
    lists = legacy.read("theano/nbest.k5.norm1.txt").splitlines()
    best = {}
    for number, text, *_ in (line.split(" ||| ") for line in lists):
        best.setdefault(int(number), text.split())
    expected = [best[number] for number in range(len(segments))]
    assert translated(legacy.web, segments, beam_width=5, normalize=True) == expected


def test_the_status(web):
    status = web.get("/status").json()
    assert set(status) == {"status", "models", "version", "service"}
    assert status["status"] == "ok" and status["models"] == ["model"]


def test_options_of_a_request(web):
    plain = web.post("/v1/translate", json={"texts": ["a b c d"], "beam_size": 1}).json()
    (words,) = translated(web, [["a", "b", "c", "d"]], beam_width=1, unknown_to_nematus=3)
    assert words == plain["translations"][0]["text"].split()
    (words,) = translated(web, [["unseen", "unseen"]], suppress_unk=True)
    assert "UNK" not in words
    asked = {"segments": [["a", "b"], []], "return_word_alignment": True}
    asked["return_word_probabilities"] = True
    one, empty = web.post("/translate", json=asked).json()["data"]
    links = one["word_alignment"]  # of every target word to every source word
    targets = [*one["translation"], "</s>"][: len(one["word_probabilities"])]
    pairs = [[target, source] for target in targets for source in ("a", "b", "</s>")]
    assert [link[:2] for link in links] == pairs
    assert sum(float(weight) for _, _, weight, *_ in links[:3]) == pytest.approx(1, abs=1e-4)
    assert {tuple(link[3:]) for link in links} == {(0, 0)}
    assert empty["translation"] == []


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"segments": "a b"},
        {"segments": ["a b"]},
        {"segments": [["a"]], "n_best": 2},
        {"segments": [["a"]], "character_level": True},
        {"segments": [["a"]], "normalize": "x"},
        {"segments": [["a"]], "normalize": 11},
        {"segments": [["a"]], "beam_width": 99},
        {"segments": [["a\nb"]]},
    ],
    ids=str,
)
def test_an_invalid_request_is_answered_by_one_line(web, asked):
    answer = web.post("/translate", json=asked)
    assert answer.status_code == 400 and answer.json()["status"] == "error"
    assert "\n" not in answer.json()["error"]
