"""Clients of LibreTranslate get the answers that they expect."""

import json
import re
import sys
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from commands import write_model
from serving import client, loaded, serving

from cgru_cli import Translator
from cgru_cli.serve import detection
from cgru_cli.serve.libre_translate import _parts
from cgru_cli.serve.problems import Refusal


@pytest.fixture(autouse=True)
def english_german(models, monkeypatch):
    for model in models.values():
        monkeypatch.setattr(model, "languages", ("en", "de"))


def asked(web, **fields):
    answer = web.post("/translate", json={"source": "en", "target": "de"} | fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def lines(web, *texts):
    answer = web.post("/v1/translate", json={"texts": texts}).json()
    return [one["text"] for one in answer["translations"]]


def test_the_languages(web):
    assert web.get("/languages").json() == [{"code": "en", "name": "English", "targets": ["de"]}]


def test_a_model_without_languages_is_not_listed(web, models, monkeypatch):
    for model in models.values():
        monkeypatch.setattr(model, "languages", None)
    assert web.get("/languages").json() == []


def test_a_text_and_a_list_of_texts(web):
    one, other = lines(web, "a b c", "d")
    assert one and other and one != other
    assert asked(web, q="a b c") == {"translatedText": one}
    assert asked(web, q=["a b c", "d"], api_key="x") == {"translatedText": [one, other]}
    assert asked(web, q="d", source="auto", format="text") == {"translatedText": other}
    assert asked(web, q=[]) == {"translatedText": []}


def test_lines_stay_lines(web):
    one, other = lines(web, "a b c", "d")
    assert asked(web, q="a b c\n\nd")["translatedText"] == f"{one}\n\n{other}"
    assert asked(web, q="a b c\r\n\r\nd")["translatedText"] == f"{one}\r\n\r\n{other}"


def test_alternatives_are_the_next_of_the_n_best_list(web):
    answer = web.post("/v1/translate", json={"texts": ["a b c"], "n_best": 3}).json()
    best, *others = [one["text"] for one in answer["translations"][0]["hypotheses"]]
    assert asked(web, q="a b c", alternatives=2) == {
        "translatedText": best,
        "alternatives": others,
    }


def test_html_is_one_text_of_several_sentences(tmp_path, monkeypatch):
    segment = SimpleNamespace(segment=lambda _, text: re.findall(r".*? \. |.+", text))
    monkeypatch.setitem(sys.modules, "sentencex", segment)
    words = ["eos", "UNK", "a", "b", "."]
    path = write_model(tmp_path, source=words, target=words)
    models = loaded(path, markup="html", beam_size=3)
    monkeypatch.setattr(models["model"], "languages", ("en", "de"))
    text = "<p>a <b>b . \n</b>b</p>\na"
    translator = Translator(path, markup="html", translation_maxlen=8, split_sentences="en")
    with serving(models) as app:
        web = client(app)
        found = asked(web, q=text, format="html")["translatedText"]
        assert found == translator.translate(text.replace("\n", " ")).text
        found = asked(web, q="<i>a\nb</i>", format="html", alternatives=1)
        assert len(found["alternatives"]) == 1
        assert all("<i>" in one for one in (found["translatedText"], *found["alternatives"]))


def test_line_breaks_in_html_without_sentencex(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    path = write_model(tmp_path, source=["eos", "UNK", "a", "b"], target=["eos", "UNK", "a", "b"])
    models = loaded(path, markup="html", beam_size=3)
    monkeypatch.setattr(models["model"], "languages", ("en", "de"))
    with serving(models) as app:
        in_two, in_one = asked(client(app), q=["a\n<b>b</b>", "a <b>b</b>"], format="html")[
            "translatedText"
        ]
        assert in_two == in_one


@pytest.mark.parametrize("splits", [True, False])
def test_text_of_html_that_is_not_prose(tmp_path, monkeypatch, splits):
    segment = SimpleNamespace(segment=lambda _, text: re.findall(r".*? \. |.+", text))
    monkeypatch.setitem(sys.modules, "sentencex", segment if splits else None)
    words = ["eos", "UNK", "a", "b", "."]
    models = loaded(write_model(tmp_path, source=words, target=words), markup="html", beam_size=2)
    monkeypatch.setattr(models["model"], "languages", ("en", "de"))
    kept = ["<style>\n a b\n</style>", "<pre>a\n  b</pre>", "<script>a < b</script>",
            "<![CDATA[a\n]]>", "<b translate='no'>b\na</b>",
            "<textarea>a\nb</textarea>"]  # fmt: skip
    with serving(models) as app:
        text = "<!DOCTYPE html><p>a b .</p>" + "<p>a</p>".join(kept)
        for texts in (text, [text]):
            found = asked(client(app), q=texts, format="html")["translatedText"]
            found = found if texts is text else found[0]
            assert found.startswith("<!DOCTYPE html>")
            assert [found.count(one) for one in kept] == [1] * len(kept), found


def test_a_form_as_its_python_client_sends(web):
    form = urlencode({"q": "a b c", "source": "en", "target": "de", "api_key": ""})
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = web.post("/translate", headers=headers, content=form)
    assert answer.json() == asked(web, q="a b c")
    fields = {"q": "a b c", "source": "en", "target": "de"}
    answer = web.post("/translate", headers=headers, content=f" {json.dumps(fields)}")  # curl's
    assert answer.json() == asked(web, q="a b c")


def test_the_password_may_be_the_api_key(models):
    fields = {"q": "a b c", "source": "en", "target": "de"}
    form = {"content-type": "application/x-www-form-urlencoded"}
    with serving(models, ["battery staple", "correct horse"]) as app:
        web = client(app)
        assert web.get("/languages").status_code == 200  # as there
        for key, status in (("correct horse", 200), ("wrong", 401), ("", 401), (7, 401)):
            asked = fields | {"api_key": key}
            sent = urlencode(asked)
            answers = [
                web.post("/translate", json=asked),
                web.post("/translate", headers=form, content=sent),
            ]
            for answer in answers:
                assert answer.status_code == status
                if status == 401:
                    problem = "the password is wrong" if key else "a password is needed"
                    assert problem in answer.json()["error"]
        assert web.post("/translate", json=fields).status_code == 401
        assert web.post("/translate", json={"segments": [["a"]]}).status_code == 401
        for given in ("Bearer wrong", "correct horse"):  # which counts, not the key
            headers = {"Authorization": given}
            asked = fields | {"api_key": "correct horse"}
            answer = web.post("/translate", json=asked, headers=headers)
            assert answer.status_code == 401 and "is wrong" in answer.json()["error"]
        nested = web.post("/v1/translate", json={"texts": ["a"], "api_key": "correct horse"})
        assert nested.status_code == 401
        headers = {"Authorization": "Bearer correct horse"}
        paths = web.get("/openapi.json", headers=headers).json()["paths"]
        assert paths["/translate"]["post"]["security"] == [{}, {"password": []}]
        assert "security" not in paths["/v1/translate"]["post"]  # that of the whole API


def test_a_form_with_too_long_a_number(models):
    fields = {"q": "a", "source": "en", "target": "de", "alternatives": "9" * 4400}
    with serving(models) as app:
        answer = client(app).post("/translate", data=fields)
    assert answer.status_code == 400 and "alternatives" in answer.json()["error"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target": "fr"}, "no model translates from en to fr"),
        ({"source": "de"}, "no model translates from de to de"),
        ({"format": "html"}, "needs --markup html"),
        ({"format": "pdf"}, "format"),
        ({"alternatives": 99}, "this server allows 1 to"),
        ({"q": 3}, "q"),
        ({"q": "a" * 61}, "this server takes 60 per line"),
    ],
    ids=str,
)
def test_an_invalid_request_is_answered_by_one_line(web, fields, message):
    answer = web.post("/translate", json={"q": "a", "source": "en", "target": "de"} | fields)
    assert answer.status_code in (400, 413)
    assert message in answer.json()["error"] and "\n" not in answer.json()["error"]


FORM = {"content-type": "application/x-www-form-urlencoded"}
PAIR = {"source": "en", "target": "de"}


def multipart(*fields, boundary="----geckoformboundary7e3"):
    """The header and body of a form as browsers and PHP's curl send it."""
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{value}\r\n'
        for name, value, more in fields
    ]
    body = "".join(parts) + f"--{boundary}--\r\n"
    return {"content-type": f"multipart/form-data; boundary={boundary}"}, body.encode()


def test_fields_come_in_all_ways_that_libretranslate_reads(web):
    """As Flask's `request.values`, which LibreTranslate's app.py reads unless a body is JSON."""
    one, other = lines(web, "a b c", "d")
    in_parts = [("q", "a b c", ""), ("source", "en", ""), ("target", "de", ""), ("api_key", "", "")]
    file = ("q", "d", '; filename="q.txt"\r\nContent-Type: text/plain')
    plain = {"content-type": "text/plain"}
    for query, headers, body in (
        ("?q=a+b+c&source=en&target=de", {}, ""),  # curl -X POST "$URL/translate?q=..."
        ("?q=a%20b%20c&source=en&target=de&api_key=", FORM, ""),
        ("?source=en&target=de", FORM, "q=a+b+c"),
        ("?q=a+b+c&source=en", FORM | {"content-type": FORM["content-type"] + ";charset=UTF-8"},
         "target=de&source=fr"),
        ("", FORM, "q=a+b+c&source=en&target=de&source=fr&format=&alternatives=0"),
        ("", *multipart(*in_parts)),
        ("", *multipart(file, *in_parts, boundary='"a b"')),
        ("?target=de", *multipart(*in_parts[:2])),
        ("", plain, json.dumps(PAIR | {"q": "a b c", "format": "", "api_key": None})),
        ("?q=d&source=fr", {"content-type": "application/json"}, json.dumps(PAIR | {"q": "a b c"})),
    ):  # fmt: skip
        body = body.replace(b'--"a b"', b"--a b") if isinstance(body, bytes) else body
        answer = web.post(f"/translate{query}", headers=headers, content=body)
        assert answer.json() == {"translatedText": one}, (query, body, answer.text)
    assert one != other


def test_a_field_given_several_times_is_a_list(web):
    found = lines(web, "a b c", "d", "a b c")
    headers, body = multipart(*[("q", text, "") for text in ("d", "a b c")])
    for query, head, content in (
        ("?source=en&target=de", FORM, "q=a+b+c&q=d&q=a+b+c"),
        ("?q=a+b+c&q=d&q=a+b+c&source=en&target=de", {}, ""),
        ("?q=a+b+c&source=en&target=de", headers, body),
    ):
        answer = web.post(f"/translate{query}", headers=head, content=content)
        assert answer.json() == {"translatedText": found}
    answer = web.post("/translate", headers=FORM, content="q=d&q=&source=en&target=de")
    assert answer.json() == {"translatedText": [found[1], ""]}
    answer = web.post(
        "/translate", headers=FORM, content="q=a+b+c&q=d&source=en&target=de&alternatives=1"
    ).json()
    assert answer["translatedText"] == found[:2] and list(map(len, answer["alternatives"])) == [
        1,
        1,
    ]


def test_json_in_a_form_is_text_and_its_lines_end_as_in_the_text(web):
    texts = ['["a", "d"]', "a\nd"]
    found = lines(web, texts[0], "a", "d")
    for text, expected in zip((texts[0], "a\r\nd"), (found[0], "\n".join(found[1:])), strict=True):
        for headers, body in (
            (FORM, urlencode(PAIR | {"q": text})),
            multipart(*[(name, value, "") for name, value in (PAIR | {"q": text}).items()]),
        ):
            answer = web.post("/translate", headers=headers, content=body)
            assert answer.json() == {"translatedText": expected}


def test_numbers_of_alternatives_as_text(web):
    for number, count in (("2", 2), ("-1", 0), (-3, 0), ("+1", 1), ("", 0)):
        assert len(asked(web, q="a b c", alternatives=number).get("alternatives", ())) == count
    for number in ("two", "1.5", "9" * 50):
        answer = web.post("/translate", json=PAIR | {"q": "a", "alternatives": number})
        assert answer.status_code == 400 and "alternatives" in answer.json()["error"]


def test_a_missing_field_is_named_as_there(web):
    """Its app.py: `Invalid request: missing %(name)s parameter`, for an empty field too."""
    for query, headers, body, name in (
        ("", FORM, "source=en&target=de", "q"),
        ("", FORM, "q=&source=en&target=de", "q"),
        ("", FORM, "", "q"),
        ("", FORM, "q[]=a&source=en&target=de", "q"),
        ("", FORM, "q=a&target=de", "source"),
        ("?q=a&source=en", {}, "", "target"),
        ("", {}, json.dumps(PAIR), "q"),
        ("", {}, json.dumps(PAIR | {"q": None}), "q"),
        ("", {}, json.dumps(PAIR | {"q": ""}), "q"),
        ("", {}, "{}", "q"),
        ("", {}, json.dumps({"q": "a", "target": "de", "source": ""}), "source"),
        ("?q=a&target=de", {}, json.dumps({"q": "a", "source": "en"}), "target"),  # JSON alone
        ("", *multipart(("source", "en", ""), ("target", "de", "")), "q"),
    ):
        answer = web.post(f"/translate{query}", headers=headers, content=body)
        assert answer.status_code == 400
        assert answer.json()["error"] == f"Invalid request: missing {name} parameter", (query, body)
    answer = web.post("/translate", json={"beam_width": 2})
    assert "segments" in answer.json()["error"]
    answer = web.post("/translate", json={"segments": [["a"]], "beam_width": 99})
    assert answer.json()["error"].startswith("beam_width 99: this server allows 1 to ")
    answer = web.post("/translate", json=PAIR | {"q": "a", "alternatives": 99})
    assert answer.json()["error"].startswith("alternatives 99: this server allows 1 to ")


def test_damaged_forms_in_parts(web):
    headers, body = multipart(("q", "a", ""), ("source", "en", ""), ("target", "de", ""))
    unnamed = {"content-type": "multipart/form-data"}
    for head, content in (
        (unnamed, body), (headers, body[:-5]), (headers, b""), (headers, b"{}"),
        ({"content-type": b"multipart/form-data; boundary=\xff"}, body),
    ):  # fmt: skip
        answer = web.post("/translate", headers=head, content=content)
        assert answer.status_code == 400 and "the form lacks its" in answer.json()["error"]
    headers, body = multipart(*[("a", "", "")] * 1001)
    with pytest.raises(Refusal, match="more than 1000 parts"):
        _parts(headers["content-type"], body)


ENGLISH, GERMAN = "Where is the old station?", "Wo ist der alte Bahnhof?"


@pytest.fixture(scope="module")
def three(model_path):
    """Models of three directions, two of which write German."""
    models = loaded(*(f"{name}={model_path}" for name in ("ende", "deen", "frde")), beam_size=3)
    for name, model in models.items():
        model.languages = (name[:2], name[2:])
    return models


@pytest.fixture(scope="module")
def several(three):
    with serving(three) as app:
        yield client(app)


def test_languages_are_detected_among_those_of_the_models(several):
    pytest.importorskip("py3langid")
    found = several.post("/detect", data={"q": GERMAN}).json()
    assert found[0]["language"] == "de" and found[0]["confidence"] > 90
    assert {one["language"] for one in found} == {"en", "de", "fr"}
    assert sum(one["confidence"] for one in found) == pytest.approx(100, abs=0.2)
    assert several.post("/detect", json={"q": [ENGLISH, "the"]}).json()[0]["language"] == "en"
    assert len(several.post("/detect", json={"q": "你好世界"}).json()) == 3
    assert several.get("/v1/models").json()["detects"]


def test_the_model_for_any_language_is_that_of_the_text(several):
    pytest.importorskip("py3langid")
    counted = 'cgru_lines_total{model="%s",task="translate"}'

    def lines(name):
        text = several.get("/metrics").text
        return sum(float(line.split()[-1]) for line in text.split("\n") if counted % name in line)

    for text, name in ((ENGLISH, "ende"), ("Où est la vieille gare ?", "frde")):
        before = lines(name)
        found = asked(several, q=text, source="auto")
        assert found["detectedLanguage"]["language"] == name[:2] and lines(name) == before + 1
        listed = asked(several, q=[text, text], source="auto")["detectedLanguage"]
        assert listed == [found["detectedLanguage"]] * 2
    assert "detectedLanguage" not in asked(several, q=GERMAN, source="auto", target="en")


def test_without_py3langid_any_language_is_that_of_the_first_model(several, web, monkeypatch):
    detection.detected(GERMAN, ("de", "en"))  # the server has loaded it from now on
    monkeypatch.setitem(sys.modules, "py3langid", None)
    detection._identifier.cache_clear()
    assert several.get("/v1/models").json()["detects"] is False
    answer = several.post("/detect", json={"q": GERMAN})
    assert answer.status_code == 501 and "cgru[detect]" in answer.json()["error"]
    assert set(asked(several, q=GERMAN, source="auto")) == {"translatedText"}
    assert web.post("/detect", json={"q": GERMAN}).json() == [
        {"confidence": 100.0, "language": "en"}
    ]


def test_the_password_may_be_a_field_of_detection(models):
    with serving(models, password="correct horse") as app:
        web = client(app)
        assert web.post("/detect", json={"q": "a"}).status_code == 401
        assert web.post("/detect", json={"q": "a", "api_key": "correct horse"}).status_code == 200
