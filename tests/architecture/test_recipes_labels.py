"""The labels recipe: its text, its baselines and its tables."""

import io
import json
import sys
import tarfile
import zipfile

import pytest
from documentation import ROOT

sys.path.insert(0, str(ROOT / "recipes/labels"))
import baseline
import languages
import results
import tags
from tables import each_row

pytestmark = pytest.mark.long


def _wheel(path, components):
    """Write a package with these messages, by component and language."""
    with zipfile.ZipFile(path, "w") as archive:
        for component, by_language in components.items():
            for language, lines in by_language.items():
                place = f"homeassistant/components/{component}/translations/{language}.json"
                archive.writestr(place, json.dumps({"a": {str(i): x for i, x in enumerate(lines)}}))
    return path


def test_messages_are_of_one_language_and_one_set(tmp_path):
    wheel = _wheel(
        tmp_path / "x.whl",
        {
            f"c{i}": {
                "de": [f"das ist der\nSatz {'abcdefghij'[i]}", "alle sagen das hier", "zu kurz"],
                "nl": [f"dit is de zin {'abcdefghij'[i]}", "alle sagen das hier"],
            }
            for i in range(10)
        },
    )
    sizes = ["--train", "5", "--dev", "1", "--test", "2", "--languages", "de nl"]
    assert languages.main([str(tmp_path / "data"), "--wheel", str(wheel), *sizes]) == 0
    read = {
        (name, ending): (tmp_path / f"data/{name}.{ending}").read_text("utf-8").splitlines()
        for name in ("train", "dev", "test")
        for ending in ("text", "labels")
    }
    assert sorted(read["train", "labels"]) == ["de"] * 5 + ["nl"] * 5
    text = [line for name in ("train", "dev", "test") for line in read[name, "text"]]
    labels = [label for name in ("train", "dev", "test") for label in read[name, "labels"]]
    assert len(set(text)) == len(text) == 16
    for line, label in zip(text, labels, strict=True):
        assert line.startswith({"de": "das ist der Satz ", "nl": "dit is de zin "}[label])
    ends = [{line[-1] for line in read[name, "text"]} for name in ("train", "dev", "test")]
    assert not (ends[0] & ends[1] or ends[0] & ends[2] or ends[1] & ends[2])  # components


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "No such file"),
        (b"no zip", "not a complete wheel"),
        ({"c": {"de": ["drei Worte hier"]}}, "no messages in nl"),
        ({"c": {"de": ["drei Worte hier"], "nl": ["drie woorden hier"]}}, "100 are needed"),
    ],
)
def test_an_invalid_wheel_is_refused(tmp_path, capsys, content, message):
    wheel = tmp_path / "x.whl"
    if isinstance(content, bytes):
        wheel.write_bytes(content)
    elif content:
        _wheel(wheel, content)
    sizes = ["--test", "100", "--dev", "0", "--languages", "de nl"]
    assert languages.main([str(tmp_path / "data"), "--wheel", str(wheel), *sizes]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "data/train.text").exists()


@each_row(
    "tag, expected",
    [("nn", "nn"), ("fw-nn-tl", "nn"), ("ppss+md", "ppss"), ("md*", "md"), ("*", "*"),
     ("nn-tl-hl", "nn"), ("pp$", "pp$"), ("np$+bez-tl", "np$"), ("--", "--")],
)  # fmt: skip
def test_tags_are_simplified(tag, expected):
    assert tags.simplified(tag) == expected


def test_texts_are_split_into_sets(tmp_path, capsys):
    package = tmp_path / "brown.tgz"
    with tarfile.open(package, "w:gz") as archive:
        for i in range(20):
            data = f"\n\n\tText/nn-tl {i}/cd and/or/cc ././.\n\n\n\tIt/pps+bez\n".encode()
            member = tarfile.TarInfo(f"package/ca{i:02}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    assert tags.main([str(tmp_path / "data"), "--package", str(package)]) == 0
    assert (tmp_path / "data/dev.text").read_text() == "".join(
        f"Text {i} and/or ./.\nIt\n" for i in (8, 18)
    )
    assert (tmp_path / "data/test.labels").read_text() == "nn cd cc .\npps\n" * 2
    assert (tmp_path / "data/train.text").read_text().count("\n") == 32
    (tmp_path / "no.tgz").write_bytes(b"no package")
    assert tags.main([str(tmp_path / "x"), "--package", str(tmp_path / "no.tgz")]) == 1
    assert "not a complete package" in capsys.readouterr().err


def test_the_most_frequent_tag():
    text, labels = ["a b a a", "b c d"], ["x y x z", "y w w"]
    assert baseline.tagged(text, labels, ["a b c new", ""]) == ["x y w w", ""]


def test_scikit_learn_tells_two_languages(tmp_path, capsys):
    for name, lines in {
        "train.text": ["das ist gut", "dit is goed", "das war gut", "dit was goed"],
        "train.labels": ["de", "nl", "de", "nl"],
        "test.text": ["das ist", "dit is"],
    }.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    for kind in ("words", "characters"):
        baseline.main([str(tmp_path), "--by", kind])
        assert capsys.readouterr().out == "de\nnl\n"


def test_the_table(tmp_path, capsys):
    for name, text in {
        "train.text": "a b\n",
        "test.text": "a b c\nc\n",
        "test.labels": "x y z\nz\n",
        "seeds/simple.labels": "x y x\nx\n",  # 50 %, of unseen words 0
        "seed1/test.labels": "x y z\nz\n",  # 100, 100
        "seed2/test.labels": "x y z\ny\n",  # 75, 50
        "short.labels": "x\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / f"{x}.labels") for x in ("seeds/simple", "seed1/test", "seed2/test")]
    results.main([str(tmp_path), *files, "--apart", "unseen"])
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| simple | 50.0 | 0.0 |",
        "| network | 87.5 ± 17.7 | 75.0 ± 35.4 |",
    ]
    (tmp_path / "test.text").write_text("a b c\na b c d\n")
    (tmp_path / "test.labels").write_text("x\ny\n")
    (tmp_path / "seeds/simple.labels").write_text("y\ny\n")
    results.main([str(tmp_path), files[0], "--apart", "short"])
    assert capsys.readouterr().out.splitlines()[2:] == ["| simple | 50.0 | 0.0 |"]
    with pytest.raises(SystemExit, match=r"short\.labels: number of labels differs"):
        results.main([str(tmp_path), str(tmp_path / "short.labels"), "--apart", "short"])
