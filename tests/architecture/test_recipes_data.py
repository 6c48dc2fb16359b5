"""The data of the recipes: generated text, and text read from packages."""

import gzip
import importlib.util
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


RECIPES = Path(__file__).resolve().parents[2] / "recipes"


def _load(path: Path):
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_data", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _lines(folder: Path, name: str) -> list[str]:
    text = (folder / name).read_text("utf-8")
    assert text.endswith("\n")
    return text.split("\n")[:-1]


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- quickstart ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quickstart():
    pytest.importorskip("babel")
    pytest.importorskip("num2words")
    return _load(RECIPES / "quickstart/data.py")


@pytest.fixture(scope="module")
def made(quickstart, tmp_path_factory):
    folder = tmp_path_factory.mktemp("quickstart")
    sizes = ["--train", "900", "--dev", "40", "--test", "60"]
    assert quickstart.main([str(folder / "new" / "data"), *sizes]) == 0
    return folder / "new" / "data"


def test_quickstart_writes_sets_that_share_no_line(made):
    sizes = {"train": 900, "dev": 40, "test": 60}
    assert sorted(_contents(made)) == sorted(f"{s}.{lang}" for s in sizes for lang in ("en", "de"))
    for language in ("en", "de"):
        every = []
        for name, size in sizes.items():
            lines = _lines(made, f"{name}.{language}")
            assert len(lines) == size
            every += lines
        assert len(set(every)) == len(every)


def test_quickstart_lines_are_short_phrases_of_plain_words(made):
    for english, german in zip(_lines(made, "train.en"), _lines(made, "train.de"), strict=True):
        lengths = [len(side.split(" ")) for side in (english, german)]
        assert 3 <= max(lengths) <= 15
        for side in (english, german):
            assert side == " ".join(side.split())  # also no U+00A0, U+202F
            assert not any(kind in side for kind in ("duration-", "length-", "mass-", "{", "None"))


def test_quickstart_is_the_same_for_the_same_seed(quickstart, made, tmp_path):
    sizes = ["--train", "900", "--dev", "40", "--test", "60"]
    assert quickstart.main([str(tmp_path / "again"), *sizes]) == 0
    assert _contents(tmp_path / "again") == _contents(made)
    assert quickstart.main([str(tmp_path / "other"), *sizes, "--seed", "2"]) == 0
    assert _contents(tmp_path / "other")["train.en"] != _contents(made)["train.en"]


def test_quickstart_dev_and_test_do_not_depend_on_the_size_of_train(quickstart, made, tmp_path):
    sizes = ["--train", "10", "--dev", "40", "--test", "60"]
    assert quickstart.main([str(tmp_path / "less"), *sizes]) == 0
    less, more = _contents(tmp_path / "less"), _contents(made)
    for name in ("dev.en", "dev.de", "test.en", "test.de"):
        assert less[name] == more[name]


class Drawn(random.Random):
    """A random generator that returns the given values in order."""

    def __init__(self, *answers):
        super().__init__(0)
        self.answers = list(answers)

    def choice(self, _several):
        return self.answers.pop(0)

    def random(self):
        return self.answers.pop(0)

    def randrange(self, *_limits):
        return self.answers.pop(0)

    randint = randrange


def _said(phrase, *languages: str) -> list[str]:
    return [" ".join(phrase(language).split()) for language in languages]


def test_quickstart_quantities(quickstart):
    # digits, value, no decimal, unit
    phrase = quickstart.quantity(Drawn(4, 3205, 1.0, "length-kilometer"))
    assert _said(phrase, "en", "de", "fr", "pl") == [
        "3,205 kilometers",
        "3.205 Kilometer",
        "3 205 kilomètres",
        "3 205 kilometrów",
    ]
    phrase = quickstart.quantity(Drawn(1, 1, 1.0, "mass-kilogram"))
    assert _said(phrase, "en", "de", "ru") == ["1 kilogram", "1 Kilogramm", "1 килограмм"]
    # digits, value, a decimal, which one, unit
    phrase = quickstart.quantity(Drawn(1, 2, 0.0, 5, "length-mile"))
    assert _said(phrase, "en", "de") == ["2.5 miles", "2,5 Meilen"]


def test_quickstart_numbers_in_words(quickstart):
    # last digits, whether thousands, how many, hundreds, unit
    phrase = quickstart.spelled(Drawn(0.0, 3, 2, 5, "kilometer"), 9)
    assert _said(phrase, "en", "de") == [
        "three thousand, two hundred and five kilometers",
        "dreitausendzweihundertfünf Kilometer",
    ]
    phrase = quickstart.spelled(Drawn(1.0, 0, 5, "week"), 9)
    assert _said(phrase, "de", "fr", "ru", "pl") == [
        "fünf Wochen",
        "cinq semaines",
        "пять недель",
        "pięć tygodni",
    ]


@pytest.mark.parametrize("hundreds", [1, 9])
def test_quickstart_numbers_in_words_need_no_gender(quickstart, hundreds):
    draw = random.Random(3)
    for _ in range(500):
        value = quickstart.spellable(draw, hundreds)
        for part in divmod(value, 1000):
            assert part == 0 or part % 10 not in (1, 2) or part % 100 in (11, 12)
            assert part // 100 <= hundreds


def test_quickstart_relative_times(quickstart):
    phrase = quickstart.relative(Drawn(("week", 7 * 24 * 3600), 3, 1))
    assert _said(phrase, "en", "de") == ["in 3 weeks", "in 3 Wochen"]
    phrase = quickstart.relative(Drawn(("month", 30 * 24 * 3600), 5, -1))
    assert _said(phrase, "en", "de", "fr") == ["5 months ago", "vor 5 Monaten", "il y a 5 mois"]


def test_quickstart_dates(quickstart):
    # minute (twice), day after 1900-01-01, hour; 35,855 days later it is 1998-03-03
    assert quickstart.datetime(1900, 1, 1) + quickstart.timedelta(days=35_855) == (
        quickstart.datetime(1998, 3, 3)
    )
    phrase = quickstart.date(Drawn(0, 0, 35_855, 15, "full"))
    assert _said(phrase, "en", "de", "es") == [
        "Tuesday, March 3, 1998",
        "Dienstag, 3. März 1998",
        "martes, 3 de marzo de 1998",
    ]
    phrase = quickstart.date_and_time(Drawn(0, 30, 35_855, 15, "long", 30, 1.0))
    assert _said(phrase, "en", "de") == ["March 3, 1998, 3:30 PM", "3. März 1998, 15:30"]
    phrase = quickstart.date_and_time(Drawn(0, 30, 35_855, 15, "long", 90, 0.0))
    assert _said(phrase, "en", "de") == [
        "March 3, 1998, 3:30 \u2013 5:00 PM",
        "3. März 1998, 15:30\u201317:00 Uhr",
    ]


def test_quickstart_prices(quickstart):
    phrase = quickstart.price(Drawn(2, 12, 0.0, 5, "CHF", 0.0, "kilogram"))
    assert _said(phrase, "en", "de") == [
        "12.50 Swiss francs per kilogram",
        "12,50 Schweizer Franken pro Kilogramm",
    ]


def test_quickstart_spanish_conjunctions_before_their_own_sound(quickstart):
    def joined(*words: str, style: str) -> str:
        return quickstart.listed([lambda _, word=word: word for word in words], style)("es")

    assert joined("India", "Italia", style="standard") == "India e Italia"
    assert joined("Italia", "Francia", style="standard") == "Italia y Francia"
    assert joined("7 días", "8 días", style="or") == "7 días u 8 días"
    assert joined("8 días", "11 días", style="or") == "8 días u 11 días"
    assert joined("8 días", "110 días", style="or") == "8 días o 110 días"


def test_quickstart_knows_each_of_its_languages(quickstart):
    languages = quickstart.LANGUAGES.split()
    for source, target in zip(languages, [*languages[1:], languages[0]], strict=True):
        drawn = quickstart.pairs(source, target, seed=1)
        pairs = [next(drawn) for _ in range(60)]
        assert all(one != other for one, other in pairs)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["-t", "xx"], 2, "data.py: error: xx: no such language; choose from cs da de"),
        (["-t", "en"], 2, "data.py: error: en is both source and target; name two languages"),
    ],
)
def test_quickstart_refuses(quickstart, tmp_path, capsys, options, code, message):
    assert quickstart.main([str(tmp_path / "data"), *options]) == code
    assert capsys.readouterr().err.startswith(message)
    assert not (tmp_path / "data").exists()


def test_quickstart_folder_that_cannot_be_made(quickstart, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    sizes = ["--train", "5", "--dev", "5", "--test", "5"]
    assert quickstart.main([str(tmp_path / "file"), *sizes]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_quickstart_says_what_to_install(tmp_path):
    (tmp_path / "babel.py").write_text("raise ImportError('not here')")
    done = subprocess.run(
        [sys.executable, str(RECIPES / "quickstart/data.py"), str(tmp_path / "data")],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr == "data.py: error: needs Babel and num2words: pip install babel num2words\n"


# --- it-docs ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def it_docs():
    return _load(RECIPES / "it-docs/data.py")


def _wheel(path: Path, components: dict[str, dict[str, dict]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("homeassistant/const.py", "")
        for component, languages in components.items():
            for language, tree in languages.items():
                name = f"homeassistant/components/{component}/translations/{language}.json"
                archive.writestr(name, json.dumps(tree))
    return path


def _deb(path: Path, language: str, pages: dict[str, str], compression: str = "xz") -> Path:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{compression}") as archive:
        for page, body in pages.items():
            content = f"<html><body>{body}</body></html>".encode()
            member = tarfile.TarInfo(f"./usr/share/libreoffice/help/{language}/text/{page}.html")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": gzip.compress(b"odd"),
        f"data.tar.{compression}": data.getvalue(),
    }
    text = b"!<arch>\n"
    for name, content in members.items():
        text += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        text += content + b"\n" * (len(content) % 2)
    path.write_bytes(text)
    return path


def test_messages_are_aligned_by_key(it_docs, tmp_path):
    english = {
        "title": "Lamp",
        "config": {"step": {"user": {"title": "Turn  on {name}\u00a0now"}}, "only": "English"},
        "lines": "First line\n\nSecond line\n",
        "uneven": "One\nTwo",
        "number": 3,
    }
    german = {
        "number": 3,
        "uneven": "Eins und zwei",
        "lines": "Erste Zeile\r\rZweite Zeile",
        "config": {"step": {"user": {"title": "{name} jetzt einschalten"}}},
        "title": "Lampe",
    }
    components = {
        "lamp": {"en": english, "de": german, "fr": {"title": "Lampe"}},
        "radio": {"en": {"title": "Radio"}},
    }
    wheel = _wheel(tmp_path / "ha.whl", components)
    assert it_docs.messages(wheel, "en", "de") == {
        "homeassistant/lamp": [
            ("Lamp", "Lampe"),
            ("Turn on {name} now", "{name} jetzt einschalten"),
            ("First line", "Erste Zeile"),
            ("Second line", "Zweite Zeile"),
            ("One Two", "Eins und zwei"),
        ]
    }
    assert it_docs.messages(wheel, "fr", "en") == {"homeassistant/lamp": [("Lampe", "Lamp")]}


PAGE = """
<header><p>{menu}</p></header>
<h1 id="hd_id1" dir="auto">{title}</h1>
<p id="par_id2" class="paragraph">{press} <span class="switchinline"
 ><span hidden="true" id="MACtext_1" class="MAC"><span class="keycode">{mac}</span></span
 ><span hidden="true" id="defaulttext_1"><span class="keycode">{key}</span></span></span>+F&amp;G
  <img src="a.png" alt="{alt}"><br>{end}</p>
<p id="par_id3" class="code">Print 1</p>
<p id="par_id4">{first}</p><p id="par_id4">{second}</p>
<p id="bm_5">bookmark</p><p id="par_id6"></p><p id>odd</p>
"""
ENGLISH = {
    "menu": "Help", "title": "Find & replace", "press": "Press", "mac": "Command", "key": "Ctrl",
    "alt": "icon", "end": "to find.", "first": "One", "second": "Two",
}  # fmt: skip
GERMAN = {
    "menu": "Hilfe", "title": "Suchen", "press": "Mit", "mac": "Befehl", "key": "Strg",
    "alt": "Symbol", "end": "suchen.", "first": "Eins", "second": "Zwei",
}  # fmt: skip


@pytest.mark.parametrize("compression", ["xz", "gz"])
def test_help_is_aligned_by_page_and_id(it_docs, tmp_path, compression):
    pages = {"swriter/01/find": PAGE.format(**ENGLISH), "only": '<p id="par_id1">English</p>'}
    english = _deb(tmp_path / "en.deb", "en-US", pages, compression)
    pages = {"swriter/01/find": PAGE.format(**GERMAN)}
    german = _deb(tmp_path / "de.deb", "de", pages, compression)
    assert it_docs.help_pages([english, german], ["en", "de"]) == {
        "libreoffice/swriter/01/find": [
            ("Find & replace", "Suchen"),
            ("Press Ctrl+F&G to find.", "Mit Strg+F&G suchen."),
            ("One", "Eins"),
            ("Two", "Zwei"),
        ]
    }


def test_uninformative_pairs_are_removed(it_docs):
    pairs = [
        ("Lamp", "Lampe"),
        ("MQTT", "MQTT"),
        ("+ {a}", "- {a}"),
        ("100 %", "hundert"),
        ("Set {a} to {b}", "{b} in {a} setzen"),
        ("Set {a}", "{c} setzen"),
        ("Lamp", "Lampe"),
        ("Lamp", "Leuchte"),
    ]
    documents, removed = it_docs.clean({"x/a": [it_docs.Pair(*pair) for pair in pairs]})
    assert documents == {"x/a": [pairs[0], pairs[2], pairs[4], pairs[7]]}
    assert removed == {
        "source = target": 1,
        "no letter": 1,
        "placeholders differ": 1,
        "duplicate": 1,
    }


def _documents(it_docs, number: int, lines: int):
    """Documents with distinct lines, and one line that all share on one side."""
    return {
        f"x/{d}": [it_docs.Pair(f"en {d} {n}", f"de {d} {n}") for n in range(lines)]
        + [it_docs.Pair("Same" if d % 2 else "same", f"gleich {d}")]
        + [it_docs.Pair(f"mine {d}", "Alle")]
        for d in range(number)
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sets_share_no_line_and_no_document(it_docs, seed):
    documents = _documents(it_docs, 40, 3)
    sets = it_docs.split(documents, dev=13, test=17, seed=seed)
    assert len(sets["dev"]) == 13
    assert len(sets["test"]) == 17
    for side in (0, 1):
        kinds = [{pair[side].casefold() for pair in sets[name]} for name in ("train", "dev")]
        kinds.append({pair[side].casefold() for pair in sets["test"]})
        assert not kinds[0] & kinds[1]
        assert not kinds[0] & kinds[2]
        assert not kinds[1] & kinds[2]

    def held(name: str) -> set[str]:
        return {pair.source.split()[1] for pair in sets[name] if pair.source.startswith("en")}

    assert not held("train") & (held("dev") | held("test"))
    assert not held("dev") & held("test")
    assert sets == it_docs.split(documents, dev=13, test=17, seed=seed)
    assert len({pair.source for pair in sets["train"]} & {"Same", "same"}) > 0


def test_sets_differ_by_seed_only(it_docs):
    documents = _documents(it_docs, 40, 3)
    first = it_docs.split(documents, 12, 12, seed=1)
    assert it_docs.split(documents, 12, 12, seed=2)["test"] != first["test"]
    backwards = dict(reversed(documents.items()))
    assert it_docs.split(backwards, 12, 12, seed=1)["test"] == first["test"]


def test_large_documents_are_for_training(it_docs):
    documents = _documents(it_docs, 20, 2)
    documents["x/large"] = [it_docs.Pair(f"large {n}", f"groß {n}") for n in range(50)]
    sets = it_docs.split(documents, dev=8, test=8, seed=1)
    assert set(documents["x/large"]) <= set(sets["train"])


def test_whole_run(it_docs, tmp_path, capsys):
    components = {
        f"c{d}": {
            "en": {str(n): f"word {d} {n}" for n in range(3)},
            "de": {str(n): f"Wort {d} {n}" for n in range(3)},
        }
        for d in range(12)
    }
    wheel = _wheel(tmp_path / "ha.whl", components)
    pages = [
        {f"p{d}": f'<p id="par_1">{word} {d}</p>' for d in range(6)} for word in ("page", "Seite")
    ]
    debs = [
        _deb(tmp_path / f"{language}.deb", language, page)
        for language, page in zip(("en-US", "de"), pages, strict=True)
    ]
    options = [str(tmp_path / "data"), "--dev", "12", "--test", "12"]
    options += ["--wheel", str(wheel), "--debs", *map(str, debs)]
    assert it_docs.main(options) == 0
    *read, written = capsys.readouterr().err.splitlines()
    assert read == [
        "homeassistant: 36 pairs of 12 documents",
        "libreoffice: 6 pairs of 6 documents",
    ]
    assert written == f"train {len(_lines(tmp_path / 'data', 'train.en'))}, test 12, dev 12"
    first = _contents(tmp_path / "data")
    assert sorted(first) == ["dev.de", "dev.en", "test.de", "test.en", "train.de", "train.en"]
    for name in ("train", "dev", "test"):
        sides = [_lines(tmp_path / "data", f"{name}.{language}") for language in ("en", "de")]
        for english, german in zip(*sides, strict=True):
            assert english.replace("word", "Wort").replace("page", "Seite") == german
    assert it_docs.main(options) == 0
    assert _contents(tmp_path / "data") == first


def test_it_docs_refuses(it_docs, tmp_path, capsys):
    wheel = _wheel(tmp_path / "ha.whl", {"lamp": {"en": {"a": "Lamp"}, "de": {"a": "Lampe"}}})
    german = _deb(tmp_path / "de.deb", "de", {"p": '<p id="par_1">Wort</p>'})
    broken = tmp_path / "broken"
    broken.write_bytes(b"!<arch>\nnothing")
    cases = [
        ([], 2, "nothing to read; give --wheel FILE, --debs SOURCE TARGET or both"),
        (["--wheel", wheel, "-s", "de"], 2, "de is both source and target"),
        (["--wheel", wheel, "-t", "fr"], 1, f"{wheel}: no messages in en and fr"),
        (["--wheel", tmp_path / "none"], 1, f"{tmp_path / 'none'}: No such file"),
        (["--wheel", broken], 1, f"{broken}: not a complete wheel"),
        (["--debs", german, german], 1, f"{german}: holds de, not en"),
        (["--debs", broken, german], 1, f"{broken}: not a complete .deb"),
        (["--debs", wheel, german], 1, f"{wheel}: not a complete .deb"),
        (["--wheel", wheel], 1, "there are only 1 pairs for test; ask for fewer"),
    ]
    for options, code, message in cases:
        assert it_docs.main([str(tmp_path / "data"), *map(str, options)]) == code
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith(f"data.py: error: {message}"), error
        assert not (tmp_path / "data").exists()


def test_a_truncated_package(it_docs, tmp_path, capsys):
    pages = {"p": '<p id="par_1">' + "".join(map(chr, range(33, 60))) * 50 + "</p>"}
    whole = _deb(tmp_path / "en.deb", "en-US", pages).read_bytes()
    german = _deb(tmp_path / "de.deb", "de", pages)
    for size in (len(whole) - 2, len(whole) - 40, 70, 8):
        (tmp_path / "cut.deb").write_bytes(whole[:size])
        options = ["--debs", str(tmp_path / "cut.deb"), str(german)]
        assert it_docs.main([str(tmp_path / "data"), *options]) == 1
        assert "cut.deb: not a complete .deb" in capsys.readouterr().err
