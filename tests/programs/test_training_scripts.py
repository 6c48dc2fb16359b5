"""Whole scripts of other programs that train, and go on with what was trained.

In none is anything changed but a path. Marian's are run by Marian as well (pymarian): both write
the same kinds of lines and files, and with the model that Marian trained the rest of the script
writes the same numbers.
"""

import re

import pytest
from whole_scripts import (
    FIXTURES,
    THEANO,
    model_folder,
    run,
    same,
)

# name: (training, what is done with the model)
MARIAN = {
    # a configuration that a script writes, and the same command again for longer
    "configuration": (
        """
mkdir -p model
cat > config.yml <<EOF
type: s2s
model: model/model.npz
train-sets: [src.txt, trg.txt]
vocabs:
  - vocab.en.json
  - vocab.de.json
dim-emb: 8
dim-rnn: 8
layer-normalization: true
tied-embeddings: true
mini-batch: 10
disp-freq: 2
save-freq: 4u
valid-freq: 4u
valid-metrics: [cross-entropy, perplexity]
valid-sets: [src.txt, trg.txt]
overwrite: true
log: model/train.log
EOF
$MARIAN/build/marian -c config.yml -d 0 --after-batches 4
$MARIAN/build/marian -c config.yml -d 0 --after-batches 6
""",
        "cat src.txt | $MARIAN/build/marian-decoder -c model/model.npz.decoder.yml -d 0 -b 3 -n "
        "--n-best --max-length-factor 1 --mini-batch 1 --maxi-batch 1 > $OUT",
    ),
    # marian-examples/wmt2017-uedin: a second model, by which a list is ranked
    "second model": (
        """
mkdir -p model
$MARIAN/build/marian --model model/model.npz --type s2s --train-sets src.txt trg.txt \\
  --max-length 100 --vocabs vocab.en.json vocab.de.json -w 300 --mini-batch 10 --maxi-batch 10 \\
  --dim-emb 8 --dim-rnn 8 --enc-depth 2 --enc-type alternating --dec-cell-base-depth 2 \\
  --dec-cell-high-depth 1 --tied-embeddings --skip --label-smoothing 0.1 \\
  --learn-rate 0.0003 --lr-warmup 4 --lr-decay-inv-sqrt 4 --lr-report --optimizer-params 0.9 \\
  0.98 1e-09 --clip-norm 5 --devices 0 --sync-sgd --seed 1111 --exponential-smoothing \\
  --after-batches 4 --disp-freq 2 --save-freq 4 --log model/train.log
""",
        "cat src.txt | $MARIAN/build/marian-decoder -m model.npz -v vocab.en.json vocab.de.json "
        "-b 3 -n --n-best --quiet > nbest.0\n"
        "$MARIAN/build/marian-scorer -m model/model.npz -v vocab.en.json vocab.de.json -d 0 "
        "--mini-batch 16 --maxi-batch 100 --maxi-batch-sort trg --n-best --n-best-feature R2L0 "
        "-t src.txt nbest.0 > nbest.1\n"
        "sed -r 's/ F0= / /;s/ R2L0= / /' nbest.1 | awk -F' [|][|][|] ' "
        '\'{ split($3, f, " +"); print $1 "\\t" f[1] + f[2] "\\t" $2 }\' '
        "| sort -k1,1n -k2,2gr -s > $OUT",
    ),
    # the options of 2016's systems
    "amun": (
        """
mkdir -p model
$MARIAN/marian --type amun --model model/model.npz --devices 0 --train-sets src.txt trg.txt \\
  --vocabs vocab.en.json vocab.de.json --dim-vocabs 300 400 --dim-emb 8 --dim-rnn 8 \\
  --layer-normalization --dropout-rnn 0.2 --dropout-src 0.1 --dropout-trg 0.1 --mini-batch 10 \\
  --valid-freq 4 --save-freq 4 --disp-freq 2 --valid-metrics cross-entropy perplexity \\
  --valid-sets src.txt trg.txt --early-stopping 10 --after-batches 4 --overwrite --keep-best \\
  --seed 1111 --no-shuffle --log model/train.log --valid-log model/valid.log
""",
        "$MARIAN/marian-scorer -m model/model.npz -v vocab.en.json vocab.de.json -t src.txt "
        "trg.txt --dim-vocabs 300 400 > $OUT",
    ),
    # fine-tuning, with alignments and weights
    "guided": (
        """
mkdir -p model
sed 's/.*/0-0 1-1/' src.txt > align.txt
seq 50 | sed 's/.*/0.5/' > weights.txt
$MARIAN/marian --pretrained-model model.npz -m model/model.npz --type s2s -t src.txt trg.txt \\
  -v vocab.en.json vocab.de.json --dim-emb 72 --dim-rnn 128 --guided-alignment align.txt \\
  --guided-alignment-cost ce --data-weighting weights.txt --mini-batch 10 --after-epochs 1 \\
  --disp-freq 2 --learn-rate 0.00001 --optimizer sgd --log model/train.log --quiet-translation
""",
        "$MARIAN/marian-decoder -m model/model.npz -v vocab.en.json vocab.de.json -i src.txt "
        "--alignment hard -b 3 -o $OUT",
    ),
}
WANTED = ("Ep. ", "[valid] Ep. ", "Seen ", "Starting data", "Training ", "Decaying ")


def kinds(log):
    """The kinds of lines that scripts look for, without their numbers."""
    lines = (line.partition("] ")[2] for line in log.splitlines())
    shown = (line for line in lines if line.startswith(WANTED))
    shown = (re.sub(r"Cost .*? : Time", "Cost : Time", line) for line in shown)
    return {" ".join(re.findall(r"[A-Za-z][\w.-]*", line)) for line in shown}


@pytest.mark.parametrize("name", MARIAN)
def test_marians_scripts_train_and_go_on(old_programs, marian, tmp_path, name):
    training, going_on = MARIAN[name]
    logs, found = [], []
    for programs in (marian, old_programs):
        folder = model_folder(tmp_path / programs.name, "marian-s2s", lines=50)
        run(training, folder, MARIAN=programs)
        logs.append((folder / "model/train.log").read_text("utf-8"))
        found.append({path.name for path in (folder / "model").iterdir()})
    assert kinds(logs[0]) == kinds(logs[1])
    read_by_scripts = re.compile(r"model\.npz|model\.npz\.best-[\w-]+\.npz|.*\.log")
    theirs, ours = ({f for f in files if read_by_scripts.fullmatch(f)} for files in found)
    assert theirs <= ours
    outputs = []
    for programs in (marian, old_programs):
        folder = tmp_path / marian.name
        run(going_on, folder, MARIAN=programs, OUT=f"out.{programs.name}")
        outputs.append((folder / f"out.{programs.name}").read_text("utf-8"))
    same(*reversed(outputs))


def test_nematus_is_trained_by_a_script_of_python(old_programs, tmp_path):
    """wmt16-scripts/sample/config.py, killed and started again, then translate.sh."""
    folder = model_folder(tmp_path / "case", "a-shallow", lines=50)
    (folder / "config.py").write_text(
        "import sys\nimport logging\n\nfrom nematus.nmt import train\n\n"
        "logging.basicConfig(level=logging.INFO, format='%(levelname)s: %(message)s')\n\n"
        "if __name__ == '__main__':\n"
        "    validerr = train(saveto='model/model.npz', reload_=True, dim_word=8, dim=8,\n"
        "                    n_words=300, n_words_src=300, decay_c=0., clip_c=1., lrate=0.0001,\n"
        "                    optimizer='adadelta', maxlen=50, batch_size=10,\n"
        "                    valid_batch_size=80, datasets=['src.txt', 'trg.txt'],\n"
        "                    valid_datasets=['src.txt', 'trg.txt'],\n"
        "                    dictionaries=['src.txt.json', 'trg.txt.json'], validFreq=3,\n"
        "                    dispFreq=1, saveFreq=3, sampleFreq=10000, use_dropout=False,\n"
        "                    dropout_embedding=0.2, dropout_hidden=0.2, dropout_source=0.1,\n"
        "                    dropout_target=0.1, overwrite=False,\n"
        "                    finish_after=int(sys.argv[1]))\n"
        "    print(validerr)\n"
    )
    run(
        "mkdir -p model\n$nematus/data/build_dictionary.py src.txt trg.txt\n"
        "export PYTHONPATH=$nematus\n"
        f"{THEANO} python config.py 3\n{THEANO} python config.py 5\n"
        f"{THEANO} python $nematus/nematus/translate.py -m model/model.npz -i src.txt -o out "
        "-k 3 -n -p 1 --suppress-unk\n"
        "paste -d'\\n' out /dev/null | sed -n 1p > first\nhead -n 1 src.txt > first.src\n"
        f"{THEANO} python $nematus/nematus/score.py -m model/model.npz -s src.txt -t out -b 80 "
        "-o costs\n",
        folder,
        nematus=old_programs,
    )
    log = (folder / "model/model.npz.log").read_text("utf-8")
    assert [int(n) for n in re.findall(r" : Up\. (\d+) : Sen", log)] == [1, 2, 3, 4, 5]
    assert len((folder / "out").read_text("utf-8").splitlines()) == 50
    assert all(float(cost) > 0 for cost in (folder / "costs").read_text("utf-8").split())


def test_nematus_on_tensorflow_is_trained_and_its_lists_rescored(old_programs, tmp_path):
    """wmt17-scripts/training/scripts.tensorflow: train.sh and validate.sh, evaluate.sh; then
    test_train_mapl2_loss.sh, which goes on.
    """
    folder = model_folder(tmp_path / "case", "b-layernorm", lines=50)
    (folder / "validate.sh").write_text(
        "#!/bin/sh\ntranslations=$1\nwc -l < $translations | sed -r 's/ *([0-9]+)/\\1/'\n"
    )
    (folder / "validate.sh").chmod(0o755)
    training = (
        "CUDA_VISIBLE_DEVICES=$devices python3 $nematus/nematus/train.py "
        "--source_dataset src.txt --target_dataset trg.txt --dictionaries vocab.en.json "
        "vocab.de.json --save_freq 3 --model model/model --model_type rnn --embedding_size 8 "
        "--state_size 8 --tie_decoder_embeddings --rnn_layer_normalization "
        "--learning_rate 0.0001 --optimizer adam --batch_size 10 --maxlen 50 "
        "--valid_source_dataset src.txt --valid_target_dataset trg.txt --valid_batch_size 40 "
        "--valid_freq 3 --valid_script ./validate.sh --disp_freq 1 --sample_freq 0 --beam_freq 0 "
        "--translation_maxlen 20 --normalization_alpha 0.6 --beam_size 2 "
    )
    run(
        "devices=0\nmkdir -p model\n"
        f"{training} --finish_after 3\n"
        f"{training} --finish_after 5 --reload latest_checkpoint --gradient_aggregation_steps 1\n"
        "MODEL=model/model.best-valid-script\n"
        "python3 $nematus/nematus/translate.py -m $MODEL -i src.txt -o nbest -k 3 --n_best "
        "--translation_maxlen 20 -b 40\n"
        "python3 $nematus/nematus/rescore.py -m $MODEL -s src.txt -i nbest -o rescored -b 40\n"
        "awk -F' [|][|][|] ' '!seen[$1]++ { print $2 }' nbest > best\n"
        "python3 $nematus/nematus/score.py -m $MODEL -s src.txt -t best -o costs -b 40\n",
        folder,
        nematus=old_programs / "nematus-tf",
    )
    costs = {}
    for line in (folder / "rescored").read_text("utf-8").splitlines():
        number, _, scores = line.split(" ||| ")
        rescored = float(scores.split()[-1])
        costs.setdefault(number, abs(rescored))  # a list of the search may lack its EOS
    scored = [abs(float(cost)) for cost in (folder / "costs").read_text("utf-8").split()]
    assert scored == pytest.approx(list(costs.values()), abs=1e-3)


@pytest.mark.parametrize("session", ["session1", "session2"])
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
    import numpy as np

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
