"""The commands of the pages run in order, on small text, with trainings of two updates.

Programs that are not installed everywhere have stand-ins in tests/support/page_commands.sh. Blocks
that show their output are run by test_docs_samples.py and test_tutorial.py.
"""

import os
import re
import socket
import subprocess

import prepared
import pytest
from documentation import ROOT, commands, of_cgru
from selection import choice
from tables import each_row

BLOCK = re.compile(r"^(<!-- sample -->\n)?```sh\n(.*?)^```", re.S | re.M)
NOT_HERE = {  # blocks that need what a test lacks
    "git clone": "would install the package",
    "TF_CONFIG": "needs two machines",
}
ELSEWHERE = {"docs/tutorial.md"}  # run by a test of their own
GPU = {  # in the place of GPUs
    "--devices 0 1": "--devices cpu:0 cpu:1",
    "--device gpu:1": "--device cpu",
    "--device gpu ": "--device cpu ",
}
TINY = "--defaults fixed --dim-emb 6 --dim-rnn 8 --mini-batch 8"
# The files that pages take for granted: text, vocabularies, models of whole words.
TEXT = f"""
command python recipes/quickstart/data.py . --train 120 --dev 5 --test 6
echo a man >> train.en
echo ein Mann >> train.de
cgru prep data -s train.en -t train.de --dev dev.en dev.de --test test.en test.de --quiet
cgru prep --vocabulary-only --compat nematus train.en train.de --quiet
cgru train -t train.en train.de -v train.en.json train.de.json -m model.npz {TINY} --quiet
for name in legacy old general m r2l a b c; do cgru convert model.npz $name.npz; done
cgru convert model.npz model-1500 --to nematus-tf
for name in src new source in; do cp test.en $name.txt; done
for name in trg ref a b; do cp test.de $name.txt; done
cp test.en new.en
cp train.en.json vocab.en.json
cp train.de.json vocab.de.json
cp data/vocab.spm .
for name in train dev test domain; do
  [ -e $name.en ] || for side in en de; do cp dev.$side $name.$side; done
  sed 's/.*/0-0/' $name.en > $name.align
  sed 's/.*/1.5/' $name.en > $name.weights
done
"""
EXAMPLE = """
for name in en-de.npz en-de.npz.json en-de.npz.preprocess.json; do
  cp examples/$name ${name/en-de/model}
done
cp examples/en-de.spm .
"""
RUN = f"cgru train data -m run/model.npz {TINY} --valid-freq 1u --quiet\n"
TEACHER = f"cgru train -t train.en train.de -v vocab.spm vocab.spm -m large.npz {TINY} --quiet\n"
LIST = "cgru translate -m model.npz --n-best -k 2 --translation-maxlen 6 < test.en > test.list\n"
TAGS = """
for set in train dev test; do
  cut -d ' ' -f 1-2 $set.en > $set.txt
  awk '{ print (NR % 2 ? "pos" : "neg") }' $set.txt > $set.labels
  awk '{ print (NF == 1 ? "A" : "A B") }' $set.txt > $set.tags
done
"""
MARIAN = """
mkdir marian
cgru convert model.npz marian/model.npz --to marian-amun
cp marian/* .
cgru prep --vocabulary-only --compat marian < train.en > src.yml
cgru prep --vocabulary-only --compat marian < train.de > trg.yml
"""
CODES = (
    "cgru prep coded -s train.en -t train.de --subwords subword-nmt --quiet; cp coded/codes.bpe .\n"
)
BEFORE = {
    "README.md": "cp src.txt notes.md",
    "docs/cheat-sheet.md": LIST + "for file in in a b ref src trg; do cp $file.txt $file; done; "
    "cp test.list list; head -1 in > in.tsv; cp model.npz r2l.npz\n" + TEACHER,
    "docs/files.md": RUN
    + "cgru score -m model.npz -s src.txt -t trg.txt --word-top-k 2 -o teacher.npy",
    "docs/from-dl4mt.md": """
for set in train dev test; do
  cp $set.en $set.en.tok
  cp $set.de $set.fr.tok
done
cp test.en src.tok
cgru prep --vocabulary-only --compat dl4mt train.en.tok train.fr.tok
cp train.en.tok.pkl en.pkl; cp train.fr.tok.pkl fr.pkl; cp fr.pkl lm.pkl
cp en.pkl source.pkl; cp fr.pkl target.pkl
cgru convert model.npz model_session2.npz --to dl4mt
""",
    "docs/from-marian.md": MARIAN
    + "cgru convert model.npz marian/legacy.npz --to marian-amun; cp marian/legacy* .; "
    "cp legacy.npz.decoder.yml config.yml; cp src.yml vocab.en.yml; cp trg.yml vocab.de.yml",
    "docs/from-nematus.md": LIST + "cp test.en src.bpe; cp test.de trg.bpe; "
    "cgru translate -m model.npz --n-best -k 2 --translation-maxlen 6 < dev.en > dev.list",
    "docs/gallery/README.md": "cp src.txt src; cp trg.txt trg; "
    "for d in a-shallow marian-s2s; do mkdir $d; cgru convert model.npz $d/model.npz; done",
    "docs/how-to/back-translation.md": "cp test.de mono.de",
    "docs/how-to/cluster.md": "cp train.en large.en",
    "docs/how-to/conditions.md": TAGS
    + """
for set in train dev test; do
  command python -c "import numpy, sys; numpy.save(sys.argv[1],
      numpy.random.default_rng(1).normal(size=(len(open(sys.argv[2]).readlines()), 3)))" \
    $set.npy $set.txt
done
sed -i s/pos/sport/ *.labels
""",
    "docs/how-to/constraints.md": EXAMPLE
    + "printf 'Sofa\\n' > words.txt; head -2 src.txt > s; mv s src.txt",
    "docs/how-to/ensembles.md": "mkdir run; for n in 17 18 19 20; do "
    "cgru convert model.npz run/model.npz.u${n}000.npz; done",
    "docs/how-to/factors.md": """
for set in train dev test; do sed -E 's/[^ ]+/&|X/g' $set.en > $set.factors.en; done
cp test.factors.en src.txt
cgru prep words -s train.factors.en -t train.de --factors 2 --subwords none --quiet
cp words/vocab.src.json vocab.word.json
cp words/vocab.factor1.json vocab.pos.json
cp words/vocab.trg.json vocab.de.json
cgru train words -m factored.npz --dim-emb 6 --dim-factors 4 2 --dim-rnn 8 --quiet
""",
    "docs/how-to/fine-tuning.md": RUN + CODES + "cp -r data general; for side in en de; do "
    "cp test.$side domain.test.$side; cp test.$side general.test.$side; done",
    "docs/how-to/labels.md": TAGS,
    "docs/how-to/language-models.md": LIST + "cp test.list list.txt",
    "docs/how-to/noisy-channel.md": "for name in dev test; do for side in en de; do "
    "head -2 $name.$side > s; mv s $name.$side; done; done",  # the search within the beam is slow
    "docs/how-to/shortlists.md": "paste -d ' ' <(head -1 train.de | cut -d ' ' -f 1) "
    "<(head -1 train.en | cut -d ' ' -f 1) <(echo 0.5) > lex.s2t; gzip -k lex.s2t",
    "docs/old-scripts.md": "cp train.en train.bpe.en; cp train.de train.bpe.de; "
    "echo '$MARIAN/marian-decoder -m model.npz -v src.yml trg.yml < src.txt' > an-old-script.sh; "
    "chmod +x an-old-script.sh;" + MARIAN,
    "docs/prepare.md": CODES + "for side in en de; do cp train.$side a.$side; "
    "gzip -c test.$side > b.$side.gz; done; head -3 data/train.trg > out.trg",
    "docs/score.md": LIST
    + """
cp test.list list.txt
cgru train -t train.de train.en -v train.de.json train.en.json -m back.npz --quiet \
  --dim-emb 6 --dim-rnn 8
cp test.en dev.src; cp test.de dev.ref
cgru score -m r2l.npz -s src.txt --n-best test.list --n-best-feature R2L > test.list2
cgru score -m r2l.npz -s src.txt --n-best list.txt > scored.list
cgru score --n-best scored.list --tune w.json --reference ref.txt --join-bpe
""",
    "docs/server.md": EXAMPLE + "cp src.txt notes.md",
    "docs/text.md": EXAMPLE + "cgru convert m.npz old-model.npz",
    "docs/train.md": "for side in en de; do cp train.$side a.$side; cp dev.$side b.$side; "
    "cp train.$side.json $side.json; done; cp -r data it",
    "docs/training-methods.md": TEACHER,
    "docs/translate.md": MARIAN
    + CODES
    + "gzip -c test.en > src.txt.gz; gzip -c test.en > test_2016_flickr.en.gz",
}


def blocks(page: str) -> list[str]:
    """The commands of a page without those whose output another test compares."""
    text = (ROOT / page).read_text("utf-8")
    if page == "docs/cheat-sheet.md":
        return re.findall(r"`(cgru [^`]+)`", text)
    return [
        code
        for sample, code in BLOCK.findall(text)
        if not sample and not any(word in code for word in NOT_HERE)
    ]


PAGES = [
    page
    for page in (
        "README.md",
        *sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md")),
    )
    if blocks(page) and page not in ELSEWHERE
]


def free_port() -> str:
    """A port that no program listens at, as text."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return str(listening.getsockname()[1])


def run(code, folder):
    environment = os.environ | {"PATH": prepared.path(), "PORT": free_port()}
    script = f". {ROOT}/tests/support/page_commands.sh\nset -x\n{code}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, timeout=600, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name in ("recipes", "examples", "docs"):
        (folder / name).symlink_to(ROOT / name)
    run(TEXT, folder)
    return folder


@each_row("page", PAGES)
def test_a_shell_can_read_the_commands_of_a_page(page):
    code = "\n".join([BEFORE.get(page, ""), *blocks(page)])
    done = subprocess.run(["bash", "-n"], input=code, capture_output=True, encoding="utf-8")
    assert not done.stderr


ENDS = {"--valid-sets", "--after", "--after-epochs", "--dry-run", "--dump-config", "--compat", "-c"}


@each_row("page", PAGES)
def test_every_training_of_a_page_ends(page):
    """The runs below are ended by page_commands.sh, which would hide a command that is refused."""
    for words in commands("\n".join(blocks(page))):
        command, *arguments = of_cgru(words) or [""]
        if command == "train" and arguments[:1] and arguments[0].startswith("-"):  # without DATA
            assert ENDS & set(arguments), " ".join(words)


@pytest.mark.parametrize("page", choice(PAGES))
def test_the_commands_of_a_page_run(page, text, tmp_path):
    folder = tmp_path / "here"
    subprocess.run(["cp", "-a", text, folder], check=True)
    code = "\n".join([BEFORE.get(page, ""), *blocks(page)])
    for there, here in GPU.items():
        code = code.replace(there, here)
    run(code, folder)
