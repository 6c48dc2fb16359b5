"""Scripts of DL4MT's tutorial in which only a path is changed.

Their translations are compared with those of the tutorial's programs, and Nematus, for the
reference models.
"""

import json
import pickle
import re

import numpy as np
import pytest
from selection import choice
from whole_scripts import FIXTURES, LINES, best_of, entries, first, model_folder, run

pytestmark = pytest.mark.long


DL4MT = {
    # dl4mt-tutorial/session1/test.sh
    "normalised": ("python ./translate.py -n -p 20", "best.k5.norm.txt"),
    "as it is": ("python ./translate.py -k 5 -p 8", "best.k5.txt"),
}


@pytest.mark.parametrize("name", DL4MT)
def test_dl4mts_scripts_give_its_output(old_programs, tmp_path, name):
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


@pytest.mark.parametrize("session", choice(["session2", "session3"], "session3"))
def test_later_sessions_of_dl4mt_translate(old_programs, tmp_path, session):
    """dl4mt-tutorial/session2/test.sh and session3/test.sh; the latter prints n-best lists of 3."""
    folder = with_pickled_vocabularies(tmp_path)
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
        found = [line.split("|||") for line in ours.splitlines()]  # without spaces around it
        assert [e[:2] for e in found] == [e[:2] for three in threes for e in three]
        costs = [float(e[2]) for three in threes for e in three]
        assert [float(e[2]) for e in found] == pytest.approx(costs, abs=1e-4)


def with_pickled_vocabularies(path):
    """A folder with a reference model and vocabularies in DL4MT's format."""
    folder = model_folder(path / "case", "a-shallow")
    for side in ("en", "de"):
        words = json.loads((folder / f"vocab.{side}.json").read_text("utf-8"))
        (folder / f"tok.{side}.pkl").write_bytes(pickle.dumps(words, protocol=2))
    return folder


@pytest.mark.exhaustive
def test_characters_are_words(old_programs, tmp_path):
    """translate.py -c gives the same for a line and for its characters separated by spaces."""
    folder = with_pickled_vocabularies(tmp_path)
    files = "model.npz tok.en.pkl tok.de.pkl"
    run(
        "printf 'Aman\\nahouse.\\n' > words\nsed 's/./& /g' words > characters\n"
        f"python $dl4mt/session2/translate.py -c {files} words ./out\n"
        f"python $dl4mt/session2/translate.py {files} characters ./expected\n"
        f"python $dl4mt/session2/translate.py {files} words ./others\n",
        folder,
        dl4mt=old_programs / "dl4mt",
    )
    ours, theirs, others = ((folder / name).read_text("utf-8") for name in
                            ("out", "expected", "others"))  # fmt: skip
    assert ours == theirs != others


@pytest.mark.parametrize("options", choice(["-n -b 0.5", "-b 0.1", "-x -b 0.3 -n"], "-n -b 0.5"))
def test_a_language_model_chooses_from_a_list(old_programs, tmp_path, options):
    """dl4mt-tutorial/session3/score_nbest.sh, with the costs of DL4MT's own model.

    The list has pairs of sentences for which each of the two terms of the sum decides once.
    """
    folder = model_folder(tmp_path / "case", "dl4mt-session0", lines=50)
    sentences = (folder / "src.txt").read_text("utf-8").splitlines()
    costs = [float(c) for c in (FIXTURES / "dl4mt-session0/costs.txt").read_text().split()]
    weight = float(options.split("-b ")[1].split()[0])
    written, best = [], []
    for number in range(25):
        sums = []
        for i in (2 * number, 2 * number + 1):
            first_cost = 20 * (i % 3) / 3 if "-n" not in options else i % 3 / 3
            words = len(sentences[i].split()) + 1 if "-n" in options else 1
            written.append(f"{number}|||{sentences[i]}|||{first_cost}\n")
            whole = 1 - weight if "-x" in options else 1
            sums.append((whole * first_cost + weight * costs[i] / words, sentences[i]))
        best.append(f"{min(sums)[1]}\n")
    (folder / "trans.SMALL").write_text("".join(written), "utf-8")
    run(
        "export THEANO_FLAGS=device=cpu,floatX=float32\n"
        f"python $dl4mt/session3/rescore_with_lm.py {options} \\\n\tmodel.npz \\\n"
        "\tmodel.npz.pkl \\\n\ttrain.en.pkl \\\n\ttrain.en.pkl \\\n"
        "\t./trans.SMALL \\\n\t./trans.SMALL.rescored\n",
        folder,
        dl4mt=old_programs / "dl4mt",
    )
    assert (folder / "trans.SMALL.rescored").read_text("utf-8") == "".join(best)
    firsts = [f"{sentences[2 * number]}\n" for number in range(25)]
    assert 3 < sum(a != b for a, b in zip(best, firsts, strict=True)) < 22


@pytest.mark.parametrize("session", choice(["session1", "session2"], "session1"))
def test_dl4mt_is_trained_and_translates(old_programs, tmp_path, session):
    """dl4mt-tutorial: build_dictionary.py, train_nmt.py and test.sh of a session."""
    folder = model_folder(tmp_path / "case", "dl4mt-session1", lines=50)
    (folder / "train_nmt.py").write_text(
        "import numpy\nimport os\n\nfrom nmt import train\n\n"
        "def main(job_id, params):\n"
        "    print(params)\n"
        "    validerr = train(saveto=params['model'][0], reload_=params['reload'][0],\n"
        "                     dim_word=params['dim_word'][0], dim=params['dim'][0],\n"
        "                     n_words=params['n-words'][0], n_words_src=params['n-words'][0],\n"
        "                     decay_c=params['decay-c'][0], lrate=params['learning-rate'][0],\n"
        "                     optimizer=params['optimizer'][0], patience=1000, maxlen=50,\n"
        "                     batch_size=32, valid_batch_size=32, validFreq=3, dispFreq=1,\n"
        "                     saveFreq=3, sampleFreq=100, finish_after=3,\n"
        "                     datasets=['src.txt', 'trg.txt'],\n"
        "                     valid_datasets=['src.txt', 'trg.txt'],\n"
        "                     dictionaries=['src.txt.pkl', 'trg.txt.pkl'],\n"
        "                     use_dropout=params['use-dropout'][0], overwrite=False)\n"
        "    return validerr\n\n"
        "if __name__ == '__main__':\n"
        "    main(0, {'model': ['model_hal.npz'], 'dim_word': [8], 'dim': [8],\n"
        "             'n-words': [300], 'optimizer': ['adadelta'], 'decay-c': [0.],\n"
        "             'use-dropout': [False], 'learning-rate': [0.0001], 'reload': [True]})\n"
    )
    run(
        "export THEANO_FLAGS=device=cpu,floatX=float32\n"
        "python $dl4mt/data/build_dictionary.py src.txt trg.txt\n"
        f"PYTHONPATH=$dl4mt/{session} python ./train_nmt.py\n"
        f"python $dl4mt/{session}/translate.py -n -k 2 -p 8 model_hal.npz src.txt.pkl "
        "trg.txt.pkl src.txt ./trans\n",
        folder,
        dl4mt=old_programs / "dl4mt",
    )
    assert len((folder / "trans").read_text("utf-8").splitlines()) == 50
    fixture = FIXTURES / {"session1": "dl4mt-session1", "session2": "a-shallow"}[session]
    with np.load(folder / "model_hal.npz") as ours, np.load(fixture / "model.npz") as theirs:
        parameters = {name for name in theirs.files if "_" in name and name != "zipped_params"}
        assert parameters - {"history_errs"} <= set(ours.files)
        assert not any("drt" in name for name in ours.files)


def test_a_language_model_of_dl4mt_is_trained(old_programs, tmp_path):
    """dl4mt-tutorial/session0/train_lm.py."""
    folder = model_folder(tmp_path / "case", "dl4mt-session0", lines=50)
    (folder / "train_lm.py").write_text(
        "from lm import train\n\n"
        "train(saveto='model_session0.npz', reload_=False, dim_word=8, dim=8, n_words=300,\n"
        "      decay_c=0., lrate=0.0001, optimizer='adadelta', maxlen=30, batch_size=32,\n"
        "      valid_batch_size=16, validFreq=2, dispFreq=1, saveFreq=2, sampleFreq=1000,\n"
        "      dataset='src.txt', valid_dataset='src.txt', dictionary='src.txt.pkl',\n"
        "      use_dropout=False, finish_after=2)\n"
    )
    run(
        "python $dl4mt/data/build_dictionary.py src.txt\n"
        "PYTHONPATH=$dl4mt/session0 python ./train_lm.py\n",
        folder,
        dl4mt=old_programs / "dl4mt",
    )
    log = (folder / "model_session0.npz.log").read_text("utf-8")
    assert re.search(r"\[valid\] Ep\. 1 : Up\. 2 : cross-entropy : \d", log)
