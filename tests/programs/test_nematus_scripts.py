"""Scripts of Nematus (Theano and TensorFlow) that translate, score and rescore.

Only a path is changed in them. Their output is compared with that of Nematus for the reference
models.
"""

import pytest
from selection import choice
from shared_files import FIXTURES
from whole_scripts import (
    LINES,
    THEANO,
    best_of,
    entries,
    first,
    hypotheses,
    model_folder,
    run,
    same,
)

pytestmark = pytest.mark.long


TRANSLATE = f"{THEANO} python $nematus/nematus/translate.py"
SCORE = f"{THEANO} python $nematus/nematus/score.py"
RESCORE = f"{THEANO} python $nematus/nematus/rescore.py"


def matrices(text, sentences):
    """The blocks of alignments of the first sentences."""
    blocks = text.split("\n\n")
    return "\n\n".join(block for block in blocks if block and int(block.split()[0]) < sentences)


# name: (script, model, Nematus' output, how to cut it, lines of the text)
ON_TENSORFLOW = {
    # wmt16-scripts/sample/translate.sh
    "translate": (
        f"{TRANSLATE} -m model.npz -i src.txt -o out -k 5 -n -p 1",
        "a-shallow", "best.k5.norm1.txt", first, LINES,
    ),
    # wmt16-scripts/r2l/README.md; the end of a list depends on its batch
    "n-best list": (
        f"time {TRANSLATE} -m model.npz -i src.txt -o out -k 5 -b 10 -n 1.0 -p 1 --n-best",
        "a-shallow", "nbest.k5.norm1.txt", entries, 50,
    ),
    "standard streams": (
        "$nematus/nematus/translate.py -m model.npz -k 5 -b 10 --n_best -v < src.txt > out",
        "a-shallow", "nbest.k5.txt", entries, 50,
    ),
    # Nematus' README, for a checkpoint, with long options
    "checkpoint": (
        "CUDA_VISIBLE_DEVICES=0 python3 $nematus/nematus/translate.py --models native/ref "
        "--input src.txt --output out --beam_size 5 --normalization_alpha 1.0 --n_best "
        "--minibatch_size 10 --maxibatch_size 20",
        "a-shallow", "nbest.k5.norm1.txt", entries, 50,
    ),
    # wmt17-scripts/training/scripts.tensorflow/evaluate.sh
    "evaluate": (
        "test=src.txt\nmodel=./model.npz\n"
        "python3 $nematus/nematus/translate.py -m $model -i $test -o ./out -k 5 -n -b 10",
        "f-factors", "best.k5.norm1.txt", first, LINES,
    ),
    "score": (
        "$nematus/nematus/score.py -m model.npz -s src.txt -t trg.txt -b 10 -o out",
        "a-shallow", "scores.txt", first, LINES,
    ),
    "normalised scores": (
        "python $nematus/nematus/score.py -m model.npz -b 80 -n -s src.txt -t trg.txt > out",
        "a-shallow", "scores.norm1.txt", first, LINES,
    ),
    "scores of a checkpoint": (
        "CUDA_VISIBLE_DEVICES=0 python3 $nematus/nematus/score.py --models native/model-1500 "
        "--source src.txt --target trg.txt --minibatch_size 10 --output out",
        "e-deep-tf", "native/scores.txt", first, LINES,
    ),
    "scores of factors": (
        "python3 $nematus/nematus/score.py -m model.npz -s src.txt -t trg.txt -n 1.0 -b 3 > out",
        "f-factors", "scores.norm1.txt", first, LINES,
    ),
    # wmt17-scripts: several models, a column of scores for each
    "scores of several": (
        "python3 $nematus/nematus/score.py -m model.npz model.npz -s src.txt -t trg.txt > both\n"
        "awk '$1 != $2 { exit 1 } { print $1 }' both > out",
        "b-layernorm", "scores.txt", first, LINES,
    ),
}  # fmt: skip
ON_THEANO = {
    "n-best list": (
        f"{TRANSLATE} -m model.npz -i src.txt -o out -k 5 -n -p 4 --n-best -wp",
        "a-shallow", "theano/nbest.k5.norm1.txt", entries, LINES,
    ),
    # wmt17-scripts/cs-en/translate-ensemble.sh
    "ensemble": (
        f"cat src.txt | {TRANSLATE} -m model.npz model.npz -k 12 -n -p 1 --n-best > out",
        "a-shallow", "theano/nbest.k12.norm1.txt", hypotheses, LINES,
    ),
    # wmt17-scripts/training/scripts/evaluate.sh
    "evaluate": (
        f"time {TRANSLATE} -m model.npz -i src.txt -o src.output.dev -k 12 -n -p 1 --suppress-unk\n"
        "sed -r 's/ *$//' < src.output.dev > out",
        "a-shallow", "theano/nbest.k12.norm1.txt", best_of, LINES,
    ),
    # Nematus' test/test_translate.py
    "plain": (
        "$nematus/nematus/translate.py -m model.npz -i src.txt -o out -k 5 -p 8 -v",
        "a-shallow", "dl4mt/session2.nbest.k5.txt", best_of, LINES,
    ),
    "alignment": (
        f"{TRANSLATE} --models model.npz -k 5 -n -p 1 --n-best --output_alignment out < src.txt "
        "> nbest",
        "a-shallow", "theano/nbest.align.k5.norm1.txt", matrices, LINES,
    ),
    "score": (
        f"{SCORE} -m model.npz -b 80 -s src.txt -t trg.txt -o out -p 1",
        "a-shallow", "theano/scores.txt", first, LINES,
    ),
    "scores, verbose": (
        f"{SCORE} -m model.npz -b 80 -v -s src.txt -t trg.txt > shown\n"
        "sed -r 's/.* //' shown > out\nsed -r 's/ [^ ]+$//' shown | diff - trg.txt",
        "b-layernorm", "theano/scores.txt", first, LINES,
    ),
    "normalised scores": (
        f"{SCORE} -m model.npz -n -s src.txt -t trg.txt -b 20 -o out",
        "c-tied-dec", "scores.norm1.txt", first, LINES,
    ),
    # Nematus' test/test_score.py
    "scores of several": (
        f"{SCORE} --models model.npz model.npz --source src.txt --target trg.txt -o both\n"
        "cut -d ' ' -f 2 both > out",
        "d-tied-all", "theano/scores.txt", first, LINES,
    ),
    "scores of a deep model": (
        "$nematus/nematus/score.py -m model.npz -s src.txt -t trg.txt -b 80 > out",
        "e2-deep-theano", "theano/scores.txt", first, LINES,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", choice(ON_TENSORFLOW, "checkpoint", "score"))
def test_scripts_for_tensorflow_give_its_output(old_programs, tmp_path, name):
    check(ON_TENSORFLOW[name], old_programs / "nematus-tf", tmp_path)


@pytest.mark.parametrize("name", choice(ON_THEANO, "ensemble"))
def test_scripts_for_theano_give_its_output(old_programs, tmp_path, name):
    check(ON_THEANO[name], old_programs, tmp_path)


def check(case, programs, path):
    script, model, reference, cut, lines = case
    folder = model_folder(path / "case", model, lines=lines)
    if (FIXTURES / model / "native").exists():
        (folder / "native").symlink_to(FIXTURES / model / "native")
    run(script, folder, nematus=programs)
    ours = (folder / "out").read_text("utf-8")
    theirs = cut((FIXTURES / model / reference).read_text("utf-8"), lines)
    same(ours if cut is best_of else cut(ours, lines), theirs)


# Lists by Nematus, rescored with the model that wrote them, give the cost of each entry again.
# name: (script, model, list, added scores)
RESCORING = {
    # wmt16-scripts/r2l/README.md
    "normalised": (
        f"{RESCORE} -m model.npz -s src.txt -i nbest -o rescored -b 80 -n",
        "a-shallow", "theano/nbest.k12.norm1.txt", 1,
    ),
    "standard streams": (
        f"{RESCORE} -m model.npz -s src.txt -b 10 < nbest > rescored",
        "a-shallow", "dl4mt/session2.nbest.k5.txt", 1,
    ),
    # wmt17-scripts/de-en/translate.sh
    "several models": (
        f"sed 's/ |||$//' nbest | {RESCORE} -m model.npz model.npz -b 50 -s src.txt | "
        "cut -d ' ' -f 1- > rescored",
        "b-layernorm", "nbest.k5.txt", 2,
    ),
    "tied": (
        f"{RESCORE} --models model.npz --source src.txt --input nbest --output rescored -v -p 4",
        "d-tied-all", "nbest.k5.txt", 1,
    ),
    "deep": (
        f"time {RESCORE} -m model.npz -s src.txt -i nbest -o rescored -n 1.0",
        "e2-deep-theano", "nbest.k5.norm1.txt", 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("programs", choice(["", "nematus-tf"], "nematus-tf"))
@pytest.mark.parametrize("name", choice(RESCORING, "several models"))
def test_rescored_lists_have_their_scores_again(old_programs, tmp_path, name, programs):
    script, model, written, columns = RESCORING[name]
    if programs:
        script = script.replace(THEANO, "CUDA_VISIBLE_DEVICES=0").replace(" -p 4", "")
    folder = model_folder(tmp_path / "case", model)
    listed = entries((FIXTURES / model / written).read_text("utf-8"))
    (folder / "nbest").write_text(listed, "utf-8")
    run(script, folder, nematus=old_programs / programs)
    rescored = (folder / "rescored").read_text("utf-8").splitlines()
    for entry, line in zip(listed.splitlines(), rescored, strict=True):
        assert line.startswith(entry.rstrip())
        cost = abs(float(entry.split(" ||| ")[2]))
        added = [float(score) for score in line.split()[-columns:]]
        assert added == pytest.approx([cost] * columns, abs=3e-4)


def test_lists_are_rescored_and_reranked(old_programs, tmp_path):
    """wmt16-scripts/r2l/README.md, with the model that wrote the list: the order is unchanged."""
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
    """wmt17-scripts' translate-reranked.sh, with one model as both the first and the second."""
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
