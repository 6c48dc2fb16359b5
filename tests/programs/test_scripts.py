"""Whole scripts of Marian, amun, Nematus and DL4MT in which nothing is changed but a path.

Each is run on small data with the programs that `cgru old-programs` writes. Marian's are run by
Marian as well (pymarian), and what both write is compared; of Nematus and DL4MT there is what they
wrote of the reference models.
"""

import json
import pickle
import re

import pytest
from shared_files import FIXTURES
from whole_scripts import (
    LINES,
    NUMBER,
    THEANO,
    best_of,
    entries,
    first,
    hypotheses,
    model_folder,
    run,
    same,
)

# -- Marian's: the same script by both -------------------------------------------------------------

DECODING = {
    # marian-examples/training-basics/run-me.sh
    "decoder.yml": """
cat src.txt | $MARIAN/marian-decoder -c model.npz.decoder.yml -d 0 -b 6 -n1 \\
  --mini-batch 64 --maxi-batch 10 --maxi-batch-sort src > out""",
    # marian-examples/wmt2017-uedin/run-me.sh
    "back-translation": """
$MARIAN/build/marian-decoder -c model.npz.decoder.yml -i src.txt -b 6 --normalize=1 -w 2500 \\
  -d 0 --mini-batch 64 --maxi-batch 100 --maxi-batch-sort src --max-length 200 \\
  --max-length-crop > out""",
    "n-best": """
cat src.txt | $MARIAN/marian-decoder -c model.npz.decoder.yml -m model.npz -d 0 1 \\
  --mini-batch 16 --maxi-batch 100 --maxi-batch-sort src -w 5000 --n-best --beam-size 4 \\
  --quiet-translation > out""",
    "options alone": """
$MARIAN/build/marian-decoder --models model.npz --vocabs vocab.en.json vocab.de.json \\
  -i src.txt -o out -b 3 -n 0.6 --allow-unk --quiet --max-length-factor 2""",
    "alignments": """
$MARIAN/marian-decoder -m model.npz -v vocab.en.json vocab.de.json --alignment soft --word-scores \\
  --n-best -b 2 --mini-batch 1 --maxi-batch 1 < src.txt > out""",
}  # fmt: skip
SCORING = {
    # marian-examples/wmt2017-uedin/run-me.sh, in two steps
    "n-best list": """
$MARIAN/marian-decoder -c model.npz.decoder.yml -b 3 --n-best --quiet < src.txt > nbest.0
$MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -d 0 --mini-batch 16 \\
  --maxi-batch 100 --maxi-batch-sort trg --n-best --n-best-feature R2L0 -t src.txt nbest.0 > out""",
    "pairs": """
$MARIAN/build/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -t src.txt trg.txt \\
  -w 500 --mini-batch 32 --maxi-batch 10 -d 0 > out""",
    "summary": """
$MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -t src.txt trg.txt \\
  --summary perplexity --quiet > out
$MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -t src.txt trg.txt \\
  --summary ce-mean-words --quiet >> out""",
    "normalised": """
$MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json -t src.txt trg.txt --normalize \\
  -o out --quiet""",
    "tsv": """
paste src.txt trg.txt | $MARIAN/marian-scorer -m model.npz -v vocab.en.json vocab.de.json \\
  --tsv -t stdin --quiet > out""",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "model"),
    [(name, "marian-s2s") for name in (*DECODING, *SCORING)]
    + [("n-best", "marian-amun"), ("pairs", "marian-nematus")],
)
def test_marians_scripts_write_the_same(old_programs, marian, tmp_path, name, model):
    script = {**DECODING, **SCORING}[name]
    outputs = []
    for programs in (marian, old_programs):
        folder = model_folder(tmp_path / programs.name, model)
        run(script, folder, MARIAN=programs)
        outputs.append((folder / "out").read_text("utf-8"))
    same(*reversed(outputs))


def test_vocabularies_are_made_on_the_way(old_programs, marian, tmp_path):
    """marian-examples/wmt2017-uedin: a common vocabulary, cut."""
    script = "cat src.txt trg.txt | $MARIAN/build/marian-vocab --max-size 60 > vocab.ende.yml\n"
    outputs = []
    for programs in (marian, old_programs):
        folder = model_folder(tmp_path / programs.name, "marian-s2s")
        run(script, folder, MARIAN=programs)
        outputs.append((folder / "vocab.ende.yml").read_bytes())
    assert outputs[0] == outputs[1]


AMUN = {
    # marian-examples/translating-amun/run-me.sh
    "run-me": """
cat src.txt | $MARIAN/build/amun -m model.npz -s vocab.en.json -t vocab.de.json --mini-batch 50 \\
  --maxi-batch 1000 -d 0 --gpu-threads 1 -b 5 -n -u > out""",
    "amun.yml": "$MARIAN/amun -c model.npz.amun.yml -b 5 -n -u -i src.txt > out",
    "dumped": """
$MARIAN/build/amun -m model.npz -s vocab.en.json -t vocab.de.json --mini-batch 1 --maxi-batch 1 \\
  -d 0 -b 5 -n -u --relative-paths --dump-config > dumped.yml
cat src.txt | $MARIAN/build/amun -c dumped.yml --gpu-threads 1 > out""",
    # as validate.sh of people's trainings writes it
    "written by a script": """
prefix=model.npz
cat > config.yml <<EOF
# paths are those of this file
relative-paths: yes
beam-size: 5
normalize: yes
scorers:
  F0:
    path: $prefix
    type: Nematus
  F1:
    path: $prefix
    type: Nematus
weights:
  F0: 0.5
  F1: 0.5
source-vocab: vocab.en.json
target-vocab: vocab.de.json
allow-unk: true
debpe: false
EOF
$MARIAN/build/bin/amun -c config.yml -d 0 --gpu-threads 1 --i src.txt > out""",
    "the best of a list": """
$MARIAN/build/amun -c model.npz.amun.yml --n-best --beam-size 5 --normalize --allow-unk \\
  --return-alignment --mini-batch 10 --maxi-batch 1000 --log-progress off < src.txt > nbest
awk -F' [|][|][|] ' '!seen[$1]++ { print $2 }' nbest | sed 's/ *$//' > out""",
}  # fmt: skip


@pytest.mark.parametrize("name", AMUN)
def test_amuns_scripts_translate_as_marian_does(old_programs, tmp_path, name):
    """The model is Marian's of that type, whose translations there are."""
    folder = model_folder(tmp_path / "case", "marian-amun")
    run(AMUN[name], folder, MARIAN=old_programs)
    theirs = best_of((FIXTURES / "marian-amun/nbest.k5.norm1.txt").read_text("utf-8"))
    assert (folder / "out").read_text("utf-8") == theirs


# marian-examples/training-basics/run-me.sh, small: without vocabularies, validated by a script
TRAINING = """
mkdir -p model
$MARIAN/build/marian --devices 0 --type s2s --model model/model.npz --train-sets src.txt trg.txt \\
  --vocabs model/vocab.en.yml model/vocab.de.yml --dim-emb 8 --dim-rnn 8 --mini-batch 10 \\
  --early-stopping 5 --valid-freq 10 --save-freq 10 --disp-freq 5 --after-batches 20 \\
  --valid-metrics cross-entropy translation --valid-sets src.txt trg.txt \\
  --valid-script-path "bash ./validate.sh" --log model/train.log --valid-log model/valid.log \\
  --overwrite --keep-best --seed 1111 --beam-size 2 --normalize=1 \\
  --quiet-translation --lr-decay 0.5 --lr-decay-strategy batches --lr-decay-start 15 \\
  --lr-decay-freq 100
cat src.txt | $MARIAN/build/marian-decoder -m model/model.npz.best-translation.npz -d 0 -b 2 -n1 \\
  -v model/vocab.en.yml model/vocab.de.yml --max-length-factor 1 > out
"""
VALIDATE = "cat $1 | wc -l | sed -r 's/ *([0-9]+)/\\1/'\n"


def test_marian_is_trained_and_its_log_read(old_programs, marian, tmp_path):
    """Training of other weights, but the same files and the lines that scripts look for."""
    found = []
    for programs in (marian, old_programs):
        folder = model_folder(tmp_path / programs.name, "marian-s2s", lines=50)
        (folder / "validate.sh").write_text(VALIDATE)
        run(TRAINING, folder, MARIAN=programs)
        log = (folder / "model/train.log").read_text("utf-8")
        valid = (folder / "model/valid.log").read_text("utf-8")
        lines = [line.partition("] ")[2] for line in log.splitlines()]
        wanted = "Ep. ", "[valid] Ep. ", "Decaying learning", "Seen ", "Starting data", "Training "
        shown = [NUMBER.sub("#", line) for line in lines if line.startswith(wanted)]
        shown = [re.sub(r"Cost .*? : Time", "Cost : Time", line) for line in shown]
        found.append((
            [re.sub(r"[\d.]+s : [\d.#]+ words", "#s : # words", line) for line in shown],
            [line.split(" : ")[2] for line in valid.splitlines() if "Ep. " in line],
            (folder / "model/vocab.en.yml").read_bytes(),
            (folder / "out").read_text("utf-8").count("\n"),
            {p.name for p in (folder / "model").glob("model.npz*.npz")}
            & {"model.npz.best-translation.npz", "model.npz.best-cross-entropy.npz"},
        ))  # fmt: skip
    theirs, ours = found
    for mine, marians in zip(ours[1:], theirs[1:], strict=True):
        assert mine == marians
    kinds = [[" ".join(re.findall(r"[A-Za-z][\w.-]*", line)) for line in f[0]] for f in found]
    assert set(kinds[0]) == set(kinds[1])


# -- Nematus' and DL4MT's: what they wrote ---------------------------------------------------------

# name: (script, reference file, how it is cut, lines of the text)
NEMATUS_TF = {
    # wmt16-scripts/sample/translate.sh
    "translate": (
        f"{THEANO} python $nematus/nematus/translate.py -m model.npz -i src.txt -o out "
        "-k 5 -n -p 1", "best.k5.norm1.txt", first, LINES,
    ),
    # wmt16-scripts/r2l/README.md; the tail of a list depends on who is in its batch
    "n-best list": (
        f"time {THEANO} python $nematus/nematus/translate.py -m model.npz -i src.txt -o out "
        "-k 5 -b 10 -n 1.0 -p 1 --n-best", "nbest.k5.norm1.txt", entries, 50,
    ),
    "standard streams": (
        "$nematus/nematus/translate.py -m model.npz -k 5 -b 10 --n_best -v < src.txt > out",
        "nbest.k5.txt", entries, 50,
    ),
    # Nematus' README, of a checkpoint, in long options
    "checkpoint": (
        "CUDA_VISIBLE_DEVICES=0 python3 $nematus/nematus/translate.py --models native/ref "
        "--input src.txt --output out --beam_size 5 --normalization_alpha 1.0 --n_best "
        "--minibatch_size 10 --maxibatch_size 20", "nbest.k5.norm1.txt", entries, 50,
    ),
    "score": (
        "$nematus/nematus/score.py -m model.npz -s src.txt -t trg.txt -b 10 -o out", "scores.txt",
        first, LINES,
    ),
    "normalised scores": (
        "python $nematus/nematus/score.py -m model.npz -b 80 -n -s src.txt -t trg.txt > out",
        "scores.norm1.txt", first, LINES,
    ),
}  # fmt: skip
NEMATUS = {
    "n-best list": (
        f"{THEANO} python3 $nematus/nematus/translate.py -m model.npz -i src.txt -o out -k 5 "
        "-n -p 4 --n-best -wp", "theano/nbest.k5.norm1.txt", entries, LINES,
    ),
    "score": (
        f"{THEANO} python $nematus/nematus/score.py -m model.npz -b 80 -s src.txt -t trg.txt "
        "-o out -p 1", "theano/scores.txt", first, LINES,
    ),
    # wmt17-scripts/cs-en/translate-ensemble.sh
    "ensemble": (
        f"cat src.txt | {THEANO} python $nematus/nematus/translate.py -m model.npz model.npz "
        "-k 12 -n -p 1 --n-best > out", "theano/nbest.k12.norm1.txt", hypotheses, LINES,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("cases", "name"),
    [("nematus-tf", name) for name in NEMATUS_TF] + [("nematus", name) for name in NEMATUS],
)
def test_nematus_scripts_write_what_it_wrote(old_programs, tmp_path, cases, name):
    script, reference, cut, lines = (NEMATUS_TF if cases == "nematus-tf" else NEMATUS)[name]
    folder = model_folder(tmp_path / "case", "a-shallow", lines=lines)
    (folder / "native").symlink_to(FIXTURES / "a-shallow/native")
    run(script, folder, nematus=old_programs / ("nematus-tf" if cases == "nematus-tf" else ""))
    ours = (folder / "out").read_text("utf-8")
    theirs = cut((FIXTURES / "a-shallow" / reference).read_text("utf-8"), lines)
    same(cut(ours, lines), theirs)


def test_lists_are_rescored_and_reranked(old_programs, tmp_path):
    """wmt16-scripts/r2l/README.md, by the model that wrote the list: the order stays."""
    folder = model_folder(tmp_path / "case", "a-shallow")
    run(
        f"{THEANO} python $nematus/nematus/translate.py -m model.npz -i src.txt -o nbest "
        "-k 5 -n -p 1 --n-best\n"
        f"{THEANO} python $nematus/nematus/rescore.py -m model.npz -s src.txt -i nbest "
        "-o rescored -b 80 -n\n"
        "python $nematus/nematus/rescore.py -m model.npz -s src.txt -b 80 -n < nbest > again\n",
        folder,
        nematus=old_programs,
    )
    lists = [(folder / name).read_text("utf-8") for name in ("nbest", "rescored", "again")]
    assert lists[1] == lists[2]
    for entry, rescored in zip(*(text.splitlines() for text in lists[:2]), strict=True):
        assert rescored.startswith(entry.strip())
        cost, again = rescored.split(" ||| ")[2].split(" ")
        assert float(cost) == pytest.approx(float(again), abs=1e-4)


def test_a_list_goes_through_pipes_to_a_second_model_and_back(old_programs, tmp_path):
    """wmt17-scripts' translate-reranked.sh, the second model being the first again."""
    folder = model_folder(tmp_path / "case", "a-shallow")
    (folder / "rerank_normalize.py").write_text(
        "import sys\n"
        "best = {}\n"
        "for line in sys.stdin:\n"
        "    number, sentence, scores = line.split(' ||| ')\n"
        "    words = sentence.split()\n"
        "    score = sum(map(float, scores.split())) / (len(words) + 1)\n"
        "    best.setdefault(int(number), []).append((score, ' '.join(words)))\n"
        "for number in sorted(best):\n"
        "    print(min(best[number])[1])\n"
    )
    run(
        "tmpfile_src=`mktemp -p .`\ntmpfile_nbest=`mktemp -p .`\ncat src.txt > $tmpfile_src\n"
        f"{THEANO} python $nematus/nematus/translate.py < $tmpfile_src -m model.npz model.npz "
        "-k 5 -n -p 2 --n-best > $tmpfile_nbest\n"
        f"sed 's/ |||$//' < $tmpfile_nbest | {THEANO} python $nematus/nematus/rescore.py "
        "-m model.npz model.npz -b 50 -s $tmpfile_src | cut -d ' ' -f 1- > rescored\n"
        "sed -r 's/ \\S+ (\\S+ \\S+)$/ \\1/' rescored | python rerank_normalize.py > out\n"
        "rm $tmpfile_src $tmpfile_nbest\n",
        folder,
        nematus=old_programs,
    )
    theirs = (FIXTURES / "a-shallow/theano/nbest.k5.norm1.txt").read_text("utf-8")
    best = [line.strip() for line in best_of(theirs).splitlines()]
    assert (folder / "out").read_text("utf-8").splitlines() == best
    for line in (folder / "rescored").read_text("utf-8").splitlines():
        _, once, again = line.split(" ||| ")[2].split()
        assert once == again


DL4MT = {
    # dl4mt-tutorial/session1/test.sh
    "normalised": ("python ./translate.py -n -p 20", "best.k5.norm.txt"),
    "as it is": ("python ./translate.py -k 5 -p 8", "best.k5.txt"),
}


@pytest.mark.parametrize("name", DL4MT)
def test_dl4mts_scripts_write_what_it_wrote(old_programs, tmp_path, name):
    command, reference = DL4MT[name]
    folder = model_folder(tmp_path / "case", "dl4mt-session1")
    script = (
        "export THEANO_FLAGS=device=cpu,floatX=float32\n"
        f"{command.replace('./', '$dl4mt/session1/')} model.npz train.en.pkl train.de.pkl src.txt "
        "./out\n"
    )
    run(script, folder, dl4mt=old_programs / "dl4mt")
    theirs = first((FIXTURES / "dl4mt-session1" / reference).read_text("utf-8"), LINES)
    assert (folder / "out").read_text("utf-8") == theirs


@pytest.mark.parametrize("session", ["session2", "session3"])
def test_later_sessions_of_dl4mt_translate(old_programs, tmp_path, session):
    """dl4mt-tutorial/session2/test.sh and session3/test.sh, of which the latter lists three."""
    folder = model_folder(tmp_path / "case", "a-shallow")
    for side in ("en", "de"):
        words = json.loads((folder / f"vocab.{side}.json").read_text("utf-8"))
        (folder / f"tok.{side}.pkl").write_bytes(pickle.dumps(words, protocol=2))
    listed = "-b 3 -p 1" if session == "session3" else "-p 8"
    run(
        "#PBS -l nodes=1:ppn=24\nexport THEANO_FLAGS=device=cpu,floatX=float32\n"
        f"cd .\npython $dl4mt/{session}/translate.py {listed} \\\n\tmodel.npz  \\\n"
        "\ttok.en.pkl \\\n\ttok.de.pkl \\\n\tsrc.txt \\\n\t./out\n",
        folder,
        dl4mt=old_programs / "dl4mt",
    )
    theirs = (FIXTURES / "a-shallow/dl4mt/session2.nbest.k5.txt").read_text("utf-8")
    ours = (folder / "out").read_text("utf-8")
    if session == "session2":
        assert ours == best_of(theirs)
    else:
        lists = [line.split(" ||| ")[:3] for line in entries(theirs).splitlines()]
        threes = [[e for e in lists if e[0] == str(n)][:3] for n in range(LINES)]
        found = [line.split(" ||| ") for line in ours.splitlines()]
        assert [e[:2] for e in found] == [e[:2] for three in threes for e in three]
        costs = [float(e[2]) for three in threes for e in three]
        assert [float(e[2]) for e in found] == pytest.approx(costs, abs=1e-4)


def test_nematus_is_trained_and_translates(old_programs, tmp_path):
    """Nematus' test/test_train.sh, smaller, with the dictionaries and the external script of
    wmt16-scripts: `-m $prefix.dev.npz` while it trains.
    """
    folder = model_folder(tmp_path / "case", "a-shallow", lines=50)
    (folder / "validate.sh").write_text(
        "#!/bin/sh\nprefix=models/model.npz\n"
        f"{THEANO} python $nematus/nematus/translate.py -m $prefix.dev.npz -i src.txt "
        "-o dev.output -k 2 -n -p 1\n"
        "BEST=`cat ${prefix}_best_bleu || echo 0`\n"
        "cp ${prefix}.dev.npz ${prefix}.npz.best_bleu\necho BLEU = `wc -l < dev.output`\n"
    )
    (folder / "validate.sh").chmod(0o755)
    run(
        "mkdir -p models\n$nematus/data/build_dictionary.py src.txt trg.txt\n"
        f"{THEANO} $nematus/nematus/nmt.py --model models/model.npz --datasets src.txt trg.txt "
        "--dictionaries src.txt.json trg.txt.json --dim_word 8 --dim 8 --n_words_src 300 "
        "--n_words 300 --maxlen 50 --optimizer adam --lrate 0.0001 --batch_size 40 --no_shuffle "
        "--dispFreq 2 --finish_after 4 --valid_datasets src.txt trg.txt --validFreq 4 "
        "--external_validation_script ./validate.sh\n",
        folder,
        nematus=old_programs,
    )
    assert (folder / "dev.output").read_text("utf-8").count("\n") == 50
    for name in ("model.npz", "model.npz.json", "model.npz.dev.npz", "model.npz.npz.best_bleu"):
        assert (folder / "models" / name).exists(), name
