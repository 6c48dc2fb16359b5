"""The server's own protocol, and its OpenAPI document."""

import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from commands import write_model
from documentation import ROOT
from jsonschema import Draft202012Validator
from serving import client, loaded, serving

from cgru_cli import PairScorer, Translator
from cgru_cli.serve import messages
from cgru_cli.serve.problems import CODES

TEXTS = ["a b c", "", "f f a d", "b unseen"]


@pytest.fixture(scope="module")
def translator(model_path):
    return Translator(model_path, beam_size=3, translation_maxlen=8)


def posted(web, path, **fields):
    answer = web.post(path, json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(web, path, content, status, *parts, **more):
    answer = web.post(path, content=content, **more)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status == CODES[answer.json()["code"]][0]
    for path_of_server in ("/tmp", "/home", "src.json", "trg.json", "model.npz"):
        assert path_of_server not in answer.text
    message = answer.json()["detail"]
    assert "\n" not in message and "Traceback" not in message
    for part in parts:
        assert part in message
    return message


def test_translations_are_those_of_the_translator(web, translator):
    found = posted(web, "/v1/translate", texts=TEXTS, n_best=2, word_scores=True, alignment=True)
    assert found["model"] == "model"
    lists = translator.translate(TEXTS, n_best=3)
    for shown, listed in zip(found["translations"], lists, strict=True):
        assert shown["text"] == listed[0].text
        for one, hypothesis in zip(shown["hypotheses"], listed[:2], strict=False):
            assert one["text"] == hypothesis.text and one["words"] == list(hypothesis.tokens)
            assert one["total"] == pytest.approx(hypothesis.total, abs=1e-4)
            assert sum(one["word_scores"]) == pytest.approx(one["score"], abs=1e-4)
            if one["words"]:
                assert len(one["alignment"]) == len(one["word_scores"])
                assert {len(row) for row in one["alignment"]} == {len(shown["source"])}
    plain = posted(web, "/v1/translate", texts=["a b c"])["translations"][0]["hypotheses"]
    assert len(plain) == 1 and not {"alignment", "word_scores"} & set(plain[0])
    assert posted(web, "/v1/translate", texts=[])["translations"] == []


def test_a_stream_has_an_event_for_each_line(web, translator):
    with web.stream("POST", "/v1/translate", json={"texts": TEXTS, "stream": True}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [event.split("\n") for event in answer.read().decode().strip().split("\n\n")]
    names = [name.removeprefix("event: ") for name, _ in events]
    assert names == ["translation"] * len(TEXTS) + ["done"]
    data = [json.loads(line.removeprefix("data: ")) for _, line in events[:-1]]
    texts = {one["index"]: one["text"] for one in data}
    assert [texts[i] for i in range(len(TEXTS))] == [
        one.text for one in translator.translate(TEXTS)
    ]


def test_options_of_a_request_mean_what_they_mean_for_the_command(web, model_path):
    greedy = Translator(model_path, beam_size=1, normalize=0.5, translation_maxlen=8)
    found = posted(web, "/v1/translate", texts=TEXTS, beam_size=1, normalize=0.5)
    best = greedy.translate(TEXTS)
    assert [one["text"] for one in found["translations"]] == [one.text for one in best]
    assert found["translations"][0]["hypotheses"][0]["total"] == pytest.approx(best[0].total)


def test_samples_and_minimum_bayes_risk_are_those_of_the_translator(web, model_path):
    same = Translator(model_path, translation_maxlen=8)
    for asked in (
        {"output_sampling": "nucleus 0.8", "seed": 4},
        {"mbr": 6, "mbr_utility": "bleu", "seed": 4},
        {"mbr": 6, "mbr_n_best": True},
        {"prefixes": ["D@@ E"] * len(TEXTS), "prefix_bias": 0.5},
    ):
        found = posted(web, "/v1/translate", texts=TEXTS, **asked, n_best=3)
        for shown, listed in zip(
            found["translations"], same.translate(TEXTS, **asked, n_best=3), strict=True
        ):
            assert [one["words"] for one in shown["hypotheses"]] == [
                list(one.tokens) for one in listed
            ]
            assert [one["total"] for one in shown["hypotheses"]] == pytest.approx(
                [one.total for one in listed], abs=1e-3
            )


def test_prefixes_begin_translations(web):
    found = posted(web, "/v1/translate", texts=["a b", "c"], prefixes=["D@@ E", ["F"]])
    one, other = (line["hypotheses"][0]["words"] for line in found["translations"])
    assert one[:2] == ["D@@", "E"] and other[0] == "F"


def test_constraints_are_those_of_the_translator(web, model_path):
    asked = {
        "texts": ["a b", "c"],
        "constraints": [["E", ["D@@ C", "C"]], []],
        "avoid": ["F"],
    }
    found = posted(web, "/v1/translate", **asked, n_best=3)
    same = Translator(model_path, beam_size=3, translation_maxlen=8)
    lists = same.translate(
        asked["texts"], constraints=asked["constraints"], avoid=asked["avoid"], n_best=3
    )
    for shown, listed in zip(found["translations"], lists, strict=True):
        own = [(one["words"], one["total"]) for one in shown["hypotheses"]]
        assert [words for words, _ in own] == [list(one.tokens) for one in listed]
        assert [total for _, total in own] == pytest.approx([one.total for one in listed], abs=1e-4)
    words = [one["words"] for one in found["translations"][0]["hypotheses"]]
    assert words and all("E" in one and "C" in one for one in words)
    free = posted(web, "/v1/translate", texts=["a b", "c"])
    assert free == posted(web, "/v1/translate", texts=["a b", "c"], constraints=[[], []])


def test_alternatives_are_next_words_with_their_translations(web, model_path):
    asked = {"text": "a b c", "prefix": ["A"], "count": 4, "alignment": True}
    listed = posted(web, "/v1/alternatives", **asked)["alternatives"]
    probabilities = [one["probability"] for one in listed]
    assert probabilities == sorted(probabilities, reverse=True) and sum(probabilities) <= 1
    words = [one["word"] for one in listed]
    assert len(set(words)) == len(words) == 4
    scorer = PairScorer(model_path)
    for one in listed:
        following = [] if one["word"] is None else [one["word"]]
        assert one["words"][: 1 + len(following)] == ["A", *following]
        (scored,) = scorer.score([("a b c", " ".join(one["words"]))])
        assert one["probability"] == pytest.approx(float(np.exp(scored.word_scores[1])), rel=1e-3)


def test_scores_are_those_of_the_scorer(web, model_path):
    pairs = [{"source": "a b", "target": "A B"}, {"source": "", "target": ""}]
    found = posted(web, "/v1/score", pairs=pairs, word_scores=True, normalize=1)["scores"]
    given = [(pair["source"], pair["target"]) for pair in pairs]
    for one, hypothesis in zip(found, PairScorer(model_path).score(given), strict=True):
        assert one["score"] == pytest.approx(hypothesis.score, abs=1e-5)
        assert one["total"] == pytest.approx(one["score"] / len(one["word_scores"]))


def test_totals_count_the_word_penalty(model_path):
    with serving(loaded(f"model={model_path}", word_penalty=0.5, normalize=1.0)) as app:
        (one,) = posted(client(app), "/v1/score", pairs=[{"source": "a", "target": "A B"}])[
            "scores"
        ]
    assert one["total"] == pytest.approx(one["score"] / 3 - 0.5, abs=1e-5)


def test_models_and_limits_are_listed(web):
    listed = web.get("/v1/models").json()
    assert [model["name"] for model in listed["models"]] == ["model"]
    assert listed["limits"]["lines"] == 20 and listed["models"][0]["beam_size"] == 3
    assert listed["models"][0]["languages"] is None
    assert listed["models"][0]["type"] == "cgru"


def test_languages_are_those_of_preprocess_json():
    path = str(ROOT / "examples/en-de.npz")
    models = loaded(f"one={path}")
    with serving(models) as app:
        listed = client(app).get("/v1/models").json()["models"]
    assert listed[0]["languages"] == {"source": "en", "target": "de"}


@pytest.mark.parametrize(
    ("content", "status", "parts"),
    [
        (b"", 400, ["not JSON"]),
        (b"\xff\xfe", 400, ["not JSON"]),
        (b"[" * 3000, 400, ["not JSON"]),
        (b"[]", 400, ["a JSON object"]),
        (b"{}", 400, ["missing required field texts"]),
        (b'{"texts": "a"}', 400, ["texts: expected array, got str"]),
        (b'{"texts": [1]}', 400, ["texts[0]: expected str, got int"]),
        (b'{"texts": ["a"], "beem": 1}', 400, ["unknown field beem", "beam_size"]),
        (b'{"texts": null}', 400, ["missing required field texts"]),
        (b'{"texts": ["a"], "beam_size": 0}', 400, ["beam_size: expected int >= 1"]),
        (b'{"texts": ["a"], "beam_size": 1.0}', 400, ["beam_size: expected int", "got float"]),
        (b'{"texts": ["a"], "beam_size": true}', 400, ["beam_size: expected int", "got bool"]),
        (b'{"texts": ["a"], "normalize": 10.5}', 400, ["normalize: expected float <= 10"]),
        (b'{"texts": ["a"], "beam_size": ' + b"9" * 50 + b"}", 400, ["not JSON", "50 digits"]),
        (b'{"texts": ["a"], "beam_size": 99}', 400, ["beam_size 99", "1 to 24"]),
        (b'{"texts": ["a"], "n_best": 25}', 400, ["n_best 25"]),
        (b'{"texts": ["a"], "n_best": 3, "beam_size": 2}', 400, ["more than the beam_size"]),
        (b'{"texts": ["a"], "normalize": NaN}', 400, ["normalize"]),
        (b'{"texts": ["a"], "output_sampling": "much"}', 400, ["output_sampling much: `full [T]`"]),
        (b'{"texts": ["a"], "mbr": 25}', 400, ["mbr 25: this server allows 1 to 24"]),
        (b'{"texts": ["a"], "mbr": 2, "beam_size": 2}', 400, ["mbr and beam_size exclude"]),
        (b'{"texts": ["a"], "mbr_utility": "bleu"}', 400, ["mbr_utility needs mbr"]),
        (b'{"texts": ["a"], "prefix_bias": 0.5}', 400, ["prefix_bias needs prefixes"]),
        (b'{"texts": ["a"], "seed": 4}', 400, ["seed needs output_sampling or mbr"]),
        (b'{"texts": ["a"], "prefix_bias": 1}', 400, ["prefix_bias: expected float < 1"]),
        (
            b'{"texts": ["a"], "output_sampling": "full", "constraints": [["A"]]}',
            400,
            ["constraints and output_sampling exclude each other"],
        ),
        (b'{"texts": ["a"], "normalize": 1e999}', 400, ["normalize"]),
        (b'{"texts": ["a"], "prefixes": []}', 400, ["0 prefixes for 1 texts"]),
        (b'{"texts": ["a"], "constraints": []}', 400, ["0 constraints for 1 texts"]),
        (
            b'{"texts": ["a"], "constraints": ["A"]}',
            400,
            ["constraints[0]: expected array"],
        ),
        (b'{"texts": ["a"], "constraints": [["Z"]]}', 422, ["line 1", "'Z'", "model lacks a word"]),
        (b'{"texts": ["a"], "constraints": [["A"]], "avoid": ["A"]}', 422, ["line 1", "avoided"]),
        (b'{"texts": ["a"], "constraints": [["A"]], "avoid": ["B", "C", "E", "F"]}', 413, ["5 ph"]),
        (b'{"texts": ["a"], "constraints": [[["A", "B", "C", "D", "E"]]]}', 413, ["5 phrases"]),
        (b'{"texts": ["a"], "avoid": ["' + b"a" * 61 + b'"]}', 413, ["61 characters"]),
        (
            b'{"texts": ["a"], "constraints": [["' + b"a " * 20 + b'", "' + b"b " * 20 + b'"]]}',
            413,
            ["line 1: 80 characters in phrases; this server takes 60"],
        ),
        (
            b'{"texts": ["a"], "constraints": [["A B C E F A B C"]]}',
            422,
            ["line 1: the constraints take 9 words, including EOS; translations have at most 8"],
        ),
        (
            b'{"texts": ["a"], "prefixes": ["A B C E F A B C E"]}',
            422,
            ["line 1: a prefix of 9 words; translations have at most 8"],
        ),
        (
            b'{"texts": ["a", "b"], "prefixes": ["", "A Z"]}',
            422,
            ["line 2: a prefix with 'Z', a word that model lacks"],
        ),
        (b'{"texts": ["a"], "prefixes": [["A", "<unk>"]]}', 422, ["line 1", "'<unk>'"]),
        (b'{"texts": ["a"], "model": "b"}', 404, ["no model 'b'; the models are: model"]),
        (b'{"texts": [], "avoid": ["a\\nb"]}', 400, ["avoid", "line break"]),
        (b'{"texts": ["a\\nb"]}', 400, ["line 1", "line break"]),
        (b'{"texts": ["' + b"a" * 61 + b'"]}', 413, ["line 1: 61 characters"]),
        (b'{"texts": ["a"], "prefixes": [["' + b"a" * 61 + b'"]]}', 413, ["61 characters"]),
        (b'{"texts": [' + b'"a",' * 20 + b'"a"]}', 413, ["21 lines"]),
        (b'{"texts": ["\\ud800"]}', 400, ["not JSON"]),
        (b" " * 5000, 413, ["4 KiB"]),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_invalid_request_is_answered_by_one_line(web, content, status, parts):
    refused(web, "/v1/translate", content, status, *parts)


@pytest.mark.parametrize(
    ("path", "asked", "code", "field"),
    [
        ("translate", {"texts": ["a"], "model": "b"}, "not_found", "model"),
        ("translate", {"texts": ["a"], "n_best": 25}, "not_possible", "n_best"),
        ("translate", {"texts": ["a"], "n_best": 3, "beam_size": 2}, "not_possible", "n_best"),
        ("translate", {"texts": ["a"], "prefixes": []}, "not_possible", "prefixes"),
        ("translate", {"texts": ["a"], "mbr_utility": "bleu"}, "not_possible", "mbr_utility"),
        ("translate", {"texts": ["a"] * 21}, "too_large", "texts"),
        ("translate", {"texts": ["a", "a" * 61]}, "too_large", "texts[1]"),
        ("translate", {"texts": ["a", "a\nb"]}, "invalid_field", "texts[1]"),
        ("translate", {"texts": ["a"], "prefixes": ["A" * 61]}, "too_large", "prefixes[0]"),
        ("translate", {"texts": ["a"], "prefixes": ["A Z"]}, "unreadable", "prefixes[0]"),
        ("translate", {"texts": ["a"], "constraints": [["Z"]]}, "unreadable", "constraints[0]"),
        ("translate", {"texts": ["a"], "constraints": [["A" * 61]]}, "too_large", "constraints[0]"),
        ("translate", {"texts": ["a"], "avoid": ["A" * 61]}, "too_large", "avoid"),
        ("translate", {"texts": ["a"], "avoid": ["A"] * 5}, "too_large", "avoid"),
        (
            "translate",
            {"texts": ["a"], "split_sentences": "German"},
            "not_possible",
            "split_sentences",
        ),
        ("alternatives", {"text": "a" * 61, "prefix": []}, "too_large", "text"),
        ("alternatives", {"text": "a", "prefix": ["Z"]}, "unreadable", "prefix"),
        ("alternatives", {"text": "a", "prefix": [], "count": 25}, "not_possible", "count"),
        (
            "score",
            {"pairs": [{"source": "a", "target": "a\n"}]},
            "invalid_field",
            "pairs[0]",
        ),
        ("nope", {}, "not_found", None),
    ],
    ids=str,
)
def test_errors_have_a_code_and_the_field(web, path, asked, code, field):
    answer = web.post(f"/v1/{path}", json=asked)
    assert (answer.json()["code"], answer.json().get("field")) == (code, field)
    assert set(answer.json()) - {"field"} == {"title", "status", "code", "detail"}


def test_the_page_of_the_server_lists_all_codes():
    page = (ROOT / "docs/server.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.M)
    assert dict(rows) == {code: str(status) for code, (status, _) in CODES.items() if status != 499}


def test_fewer_alternatives_than_usual_where_the_server_allows_no_more(model_path):
    with serving(loaded(model_path, beam_size=2), max_beam_size=3, beam_size=2) as app:
        found = posted(client(app), "/v1/alternatives", text="a b", prefix=[])
    assert len(found["alternatives"]) == 3


def test_words_that_unk_replace_put_into_a_translation_may_be_its_prefix(model_path):
    with serving(loaded(model_path, unk_replace=True), unk_replace=True) as app:
        posted(client(app), "/v1/alternatives", text="a Zürich", prefix=["A", "Zürich"])


def test_a_missing_factor_names_the_served_model(tmp_path):
    path = write_model(tmp_path, source_vocabularies=(8, 8), source_embeddings=(2, 2))
    (tmp_path / "model.npz.json").write_text(
        '{"dictionaries": ["src.json", "src.json", "trg.json"]}'
    )
    with serving(loaded(f"factored={path}")) as app:
        answer = client(app).post("/v1/translate", json={"texts": ["a"]})
    assert answer.status_code == 422 and answer.json()["field"] == "texts[0]"
    assert "for factored" in answer.json()["detail"] and str(tmp_path) not in answer.text


def test_unknown_paths_and_methods(web):
    assert web.get("/v1/translate").status_code == 405
    assert web.post("/nope").status_code == 404
    assert web.post("/nope").json()["status"] == "error"


def test_a_full_queue_and_a_timeout(models):
    with serving(models, queue=2) as app:
        web = client(app)
        refused(web, "/v1/translate", b'{"texts": ["a", "a", "a"]}', 413, "3 lines", "takes 2")
        assert web.get("/v1/models").json()["limits"]["lines"] == 2
        app.service.engine._queue.limit = 1  # the other place is taken
        answer = web.post("/v1/translate", json={"texts": ["a"] * 2})
        assert answer.status_code == 503 and int(answer.headers["retry-after"]) > 0
    with serving(models, timeout=0.05, batch_wait=2000) as app:
        web = client(app)
        refused(web, "/v1/translate", b'{"texts": ["a"]}', 504, "longer than 0.05 seconds")
        stream = web.post("/v1/translate", json={"texts": ["a"], "stream": True})
        assert '"status":504' in stream.text


def test_several_models_by_name(model_path):
    both = loaded(f"one={model_path}", f"two={model_path},{model_path}")
    with serving(both) as app:
        web = client(app)
        listed = web.get("/v1/models").json()["models"]
        assert [(m["name"], m["ensemble"]) for m in listed] == [("one", 1), ("two", 2)]
        answers = [posted(web, "/v1/translate", texts=["a b"], model=m) for m in ("one", "two")]
        assert [answer["model"] for answer in answers] == ["one", "two"]
        assert answers[0]["translations"][0]["text"] == answers[1]["translations"][0]["text"]


def test_requests_and_answers_match_the_openapi_document(web, app):
    document = web.get("/openapi.json").json()
    requests = {
        "/v1/translate": {"texts": ["a b", ""], "n_best": 2, "prefixes": ["A", []]},
        "/v1/alternatives": {"text": "a b", "prefix": []},
        "/v1/score": {"pairs": [{"source": "a", "target": "A"}]},
        "/v1/models": None,
        "/translate": {"segments": [["a"], []], "return_word_probabilities": True},
        "/status": None,
        "/languages": None,
        "/detect": {"q": ["a", "b"]},
    }
    paths = {path for path in document["paths"] if "/v1/documents" not in path}
    assert paths == set(requests) and set(requests) <= app.paths
    more = {"word_scores": True, "alignment": True}

    def check(value, content):
        is_problem = "application/problem+json" in content["content"]
        media_type = "application/problem+json" if is_problem else "application/json"
        schema = content["content"][media_type]["schema"]
        Draft202012Validator(schema | {"components": document["components"]}).validate(value)

    for path in paths:
        operations = document["paths"][path]
        ((method, operation),) = operations.items()
        assert method == ("get" if requests[path] is None else "post")
        if requests[path] is None:
            answer = web.get(path)
        else:
            asked = requests[path] | (more if path.startswith("/v1") else {})
            check(asked, operation["requestBody"])
            answer = web.post(path, json=asked)
            wrong = web.post(path, json={})
            assert wrong.status_code == 400
            check(wrong.json(), operation["responses"]["400"])
        assert answer.status_code == 200
        check(answer.json(), operation["responses"]["200"])
        if path == "/translate":
            libre = {"q": ["a", "b"], "source": "auto", "target": "de", "alternatives": 1}
            check(libre, operation["requestBody"])
            check(
                {"translatedText": ["A", "B"], "alternatives": [["C"], []]},
                operation["responses"]["200"],
            )
    found = posted(web, "/v1/translate", texts=["a b"], **more)
    one = found["translations"][0]["hypotheses"][0]
    described = document["components"]["schemas"]["Hypothesis"]["properties"]
    assert set(one) == set(described)
    assert all("description" in field for field in described.values())


def test_infinite_scores_are_null():
    line = messages.ScoredWords(
        words=[], finished=True, score=float("-inf"), total=float("nan"), word_scores=[-np.inf]
    )
    shown = json.loads(messages.encoded(line).body)
    assert (shown["score"], shown["total"], shown["word_scores"]) == (None, None, [None])


def test_texts_of_several_sentences(web, translator, monkeypatch):
    def segment(language, text):
        assert language in ("en", "de")
        return re.findall(r".*? \. |.+", text)

    monkeypatch.setitem(sys.modules, "sentencex", SimpleNamespace(segment=segment))
    texts = ["a b . c a\n\nf . b", "", "b c"]
    found = posted(web, "/v1/translate", texts=texts, split_sentences=True)["translations"]
    one = {text: translator.translate(text).text for text in ("a b .", "c a", "f .", "b", "b c")}
    first = f"{one['a b .']} {one['c a']}\n\n{one['f .']} {one['b']}"
    assert [x["text"] for x in found] == [first, "", one["b c"]]
    assert [len(x["hypotheses"]) for x in found] == [1, 1, 1]
    assert posted(web, "/v1/translate", texts=texts, split_sentences="de")["translations"] == found
    for more in ({"n_best": 2}, {"alignment": True}, {"stream": True}, {"prefixes": ["a", "", ""]}):
        asked = json.dumps({"texts": texts, "split_sentences": True, **more})
        refused(web, "/v1/translate", asked, 400, "split_sentences", next(iter(more)))
    asked = json.dumps({"texts": texts, "split_sentences": "German"})
    refused(web, "/v1/translate", asked, 400, "split_sentences: German: not the code")
    asked = {"texts": ["a . b . a\nb", "a" * 61], "split_sentences": True}
    assert web.post("/v1/translate", json=asked).json()["field"] == "texts[1]"
    monkeypatch.setitem(sys.modules, "sentencex", None)
    asked = json.dumps({"texts": texts, "split_sentences": True})
    refused(web, "/v1/translate", asked, 501, "sentencex is not installed")


def test_marks_of_texts_of_several_sentences(tmp_path, monkeypatch):
    segment = SimpleNamespace(segment=lambda language, text: re.findall(r".*? \. |.+", text))
    monkeypatch.setitem(sys.modules, "sentencex", segment)
    words = ["eos", "UNK", "a", "b", "."]
    path = write_model(tmp_path, source=words, target=words)
    more = {"beam_size": 2, "translation_maxlen": 8, "markup": "html"}
    texts = ["a <b\n>b . b\nb</b> a\n<i>a</i>", "<hr/>"]
    translator = Translator(path, split_sentences="en", **more)
    one_line = translator.translate(texts[0].replace("\n>", ">").replace("\n", " ")).text
    expected = [one_line.replace("<b>", "<b\n>"), texts[1]]
    assert one_line.count("<b>") == one_line.count("<i>") == 1
    with serving(loaded(path, **more), max_characters=40) as app:
        web = client(app)
        found = posted(web, "/v1/translate", texts=texts, split_sentences="en")["translations"]
        assert [one["text"] for one in found] == expected
        asked = json.dumps({"texts": ["a", "<b>" * 14], "split_sentences": "en"})
        refused(web, "/v1/translate", asked, 413, "40 characters")
        assert web.post("/v1/translate", content=asked).json()["field"] == "texts[1]"
