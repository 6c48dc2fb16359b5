"""Scripts of Nematus (Theano and TensorFlow) that train, and then use the trained model.

Only a path is changed in them. The tests check the log, the files, and that the scorers give the
scores of a list written by the trained model.
"""

import re

import pytest
from selection import choice
from whole_scripts import THEANO, model_folder, run

pytestmark = pytest.mark.long


TRAIN = (
    "$nematus/nematus/nmt.py --model models/model.npz --datasets src.txt trg.txt --dictionaries "
    "vocab.en.json vocab.de.json --dim_word 8 --dim 8 --n_words_src 300 --n_words 300 --maxlen 50 "
    "--optimizer adam --lrate 0.0001 --batch_size 10 --no_shuffle --dispFreq 1 "
)
# name: (training, updates in the log)
ON_THEANO = {
    # Nematus' test/test_train_drt_layernorm.sh, then test_train_drt_weightnorm.sh
    "deep transition": (
        f"{TRAIN} --finish_after 2 --dec_base_recurrence_transition_depth 4 --layer_normalisation\n"
        f"rm -r models/*\n"
        f"{TRAIN} --finish_after 3 --dec_base_recurrence_transition_depth 4 "
        "--enc_recurrence_transition_depth 2 --weight_normalisation\n",
        [1, 2, 3],
    ),
    # wmt17-scripts/training/scripts/train.sh and validate.sh, with dropout
    "validated": (
        "cat > validate.sh <<'EOF'\n#!/bin/sh\nprefix=./models/model.npz\n"
        f"{THEANO} time python $nematus/nematus/translate.py -m $prefix.dev.npz -i dev.txt "
        "-o dev.output -k 2 -n -p 1 --suppress-unk\n"
        "BEST=`cat ${prefix}_best_bleu || echo 0`\nBLEU=`wc -l < dev.output`\n"
        'echo "BLEU = $BLEU"\nif [ $BLEU -gt $BEST ]; then\n  echo "new best; saving"\n'
        "  echo $BLEU > ${prefix}_best_bleu\n  cp ${prefix}.dev.npz ${prefix}.best_bleu\n"
        "  cp ${prefix}.dev.npz.json ${prefix}.best_bleu.json\nfi\nEOF\n"
        "chmod +x validate.sh\n"
        f"{THEANO} python {TRAIN} --valid_datasets src.txt trg.txt --external_validation_script "
        "./validate.sh --reload --valid_batch_size 40 --validFreq 2 --saveFreq 2 --sampleFreq "
        "10000 --tie_decoder_embeddings --layer_normalisation --use_dropout --dropout_source 0.1 "
        "--enc_recurrence_transition_depth 2 --finish_after 2\n"
        "cp models/model.npz.best_bleu.json best.json\n"
        "python $nematus/nematus/translate.py -m models/model.npz.best_bleu -i dev.txt -k 2 -n "
        "-p 1 --suppress-unk | diff - dev.output\n",
        [1, 2],
    ),
    # Nematus' README: minimum risk training after cross-entropy
    "minimum risk": (
        f"{TRAIN} --finish_after 2\n"
        f"{TRAIN} --finish_after 3 --reload --objective MRT --mrt_samples 2 --mrt_alpha 0.005 "
        "--mrt_loss 'SENTENCEBLEU n=4' --mrt_reference --mrt_ml_mix 0.1 --sample_way "
        "randomly_sample\n",
        [1, 2, 3],
    ),
}
# Nematus' test/test_train*.sh, in versions with Theano's option names
ON_TENSORFLOW = {
    "reloaded": (
        f"{TRAIN} --finish_after 2 --summaryFreq 1\n"
        f"{TRAIN} --finish_after 3 --reload latest_checkpoint --summaryFreq 1\n",
        [1, 2, 3],
    ),
    "prior": (
        f"{TRAIN} --finish_after 2 --decay_c 0.0001\n"
        f"{TRAIN} --finish_after 3 --map_decay_c 0.0001 --prior_model models/model.npz-2 "
        "--reload latest_checkpoint\n",
        [1, 2, 3],
    ),
    "activation": (
        f"{TRAIN} --output_hidden_activation relu --label_smoothing 0.1 --tie_decoder_embeddings "
        "--exponential_smoothing 0.0001 --finish_after 2\n",
        [1, 2],
    ),
    "minimum risk": (
        f"{TRAIN} --finish_after 2\n"
        f"{TRAIN} --finish_after 3 --reload latest_checkpoint --loss_function MRT --samplesN 2 "
        "--mrt_alpha 0.005 --mrt_reference\n",
        [1, 2, 3],
    ),
}


@pytest.mark.parametrize("name", choice(ON_THEANO))
def test_scripts_for_theano_train_and_continue(old_programs, tmp_path, name):
    check(ON_THEANO[name], old_programs, tmp_path)


@pytest.mark.parametrize("name", choice(ON_TENSORFLOW, "activation"))
def test_scripts_for_tensorflow_train_and_continue(old_programs, tmp_path, name):
    training, updates = ON_TENSORFLOW[name]
    check((training.replace("nmt.py", "train.py"), updates), old_programs / "nematus-tf", tmp_path)


def check(case, programs, path):
    training, updates = case
    folder = model_folder(path / "case", "a-shallow", lines=40)
    run(
        f"mkdir -p models\nhead -n 3 src.txt > dev.txt\n{training}"
        "M=models/model.npz\n"
        "python $nematus/nematus/translate.py -m $M -i dev.txt -o nbest -k 2 -n --n-best\n"
        "python $nematus/nematus/rescore.py -m $M -s dev.txt -i nbest -o rescored -b 40 -n\n"
        "awk -F' [|][|][|] ' '!seen[$1]++ { print $2 }' nbest | sed 's/ *$//' > best\n"
        "python $nematus/nematus/score.py -m $M -s dev.txt -t best -o costs -b 40 -n\n",
        folder,
        nematus=programs,
    )
    log = (folder / "models/model.npz.log").read_text("utf-8")
    assert [int(n) for n in re.findall(r" : Up\. (\d+) : Sen", log)] == updates
    assert (folder / "models/model.npz.json").exists()
    if programs.name == "nematus-tf":
        assert (folder / f"models/model.npz-{updates[-1]}.index").exists()
    costs = {}
    for line in (folder / "rescored").read_text("utf-8").splitlines():
        number, _, scores = line.split(" ||| ")
        costs.setdefault(number, abs(float(scores.split()[-1])))
    scored = [abs(float(cost)) for cost in (folder / "costs").read_text("utf-8").split()]
    assert scored == pytest.approx(list(costs.values()), abs=1e-3)


def test_nematus_is_trained_by_a_script_of_python(old_programs, tmp_path):
    """wmt16-scripts/sample/config.py, killed and restarted, then translate.sh."""
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
        f"{THEANO} python config.py 3\nstat -c %y model/model.iter3.npz > before\n"
        f"{THEANO} python config.py 6\nstat -c %y model/model.iter3.npz | diff - before\n"
        "ls model/model.iter3.npz.json model/model.iter6.npz.json\n"
        "head -n 3 src.txt > few.txt\n"
        f"{THEANO} python $nematus/nematus/translate.py -m model/model.npz -i few.txt -o out "
        "-k 3 -n -p 1 --suppress-unk\n"
        f"{THEANO} python $nematus/nematus/score.py -m model/model.npz -s few.txt -t out -b 80 "
        "-o costs\n",
        folder,
        nematus=old_programs,
    )
    log = (folder / "model/model.npz.log").read_text("utf-8")
    assert [int(n) for n in re.findall(r" : Up\. (\d+) : Sen", log)] == [1, 2, 3, 4, 5, 6]
    assert len((folder / "out").read_text("utf-8").splitlines()) == 3
    costs = (folder / "costs").read_text("utf-8").split()
    assert len(costs) == 3 and all(float(cost) > 0 for cost in costs)


@pytest.mark.exhaustive
def test_nematus_on_tensorflow_is_trained_and_its_lists_rescored(old_programs, tmp_path):
    """wmt17-scripts/training/scripts.tensorflow: train.sh and validate.sh, evaluate.sh; then
    test_train_mapl2_loss.sh, which continues training.
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
        "--valid_source_dataset few.src --valid_target_dataset few.trg --valid_batch_size 40 "
        "--valid_freq 3 --valid_script ./validate.sh --disp_freq 1 --sample_freq 0 --beam_freq 0 "
        "--translation_maxlen 20 --normalization_alpha 0.6 --beam_size 2 "
    )
    run(
        "devices=0\nmkdir -p model\nhead -n 5 src.txt > few.src\nhead -n 5 trg.txt > few.trg\n"
        f"{training} --finish_after 3\n"
        f"{training} --finish_after 5 --reload latest_checkpoint --gradient_aggregation_steps 1\n"
        "MODEL=model/model.best-valid-script\n"
        "python3 $nematus/nematus/translate.py -m $MODEL -i few.src -o nbest -k 3 --n_best "
        "--translation_maxlen 20 -b 40\n"
        "python3 $nematus/nematus/rescore.py -m $MODEL -s few.src -i nbest -o rescored -b 40\n"
        "awk -F' [|][|][|] ' '!seen[$1]++ { print $2 }' nbest > best\n"
        "python3 $nematus/nematus/score.py -m $MODEL -s few.src -t best -o costs -b 40\n",
        folder,
        nematus=old_programs / "nematus-tf",
    )
    costs = {}
    for line in (folder / "rescored").read_text("utf-8").splitlines():
        number, _, scores = line.split(" ||| ")
        rescored = float(scores.split()[-1])
        costs.setdefault(number, abs(rescored))  # an entry of a list may lack EOS
    scored = [abs(float(cost)) for cost in (folder / "costs").read_text("utf-8").split()]
    assert scored == pytest.approx(list(costs.values()), abs=1e-3)


def test_nematus_is_trained_and_translates(old_programs, tmp_path):
    """Nematus' test/test_train.sh, smaller, with the dictionaries and the external script of
    wmt16-scripts: `-m $prefix.dev.npz` while it trains.
    """
    folder = model_folder(tmp_path / "case", "a-shallow", lines=50)
    (folder / "validate.sh").write_text(
        "#!/bin/sh\nprefix=models/model.npz\n"
        f"{THEANO} python $nematus/nematus/translate.py -m $prefix.dev.npz -i few.txt "
        "-o dev.output -k 2 -n -p 1\n"
        "BEST=`cat ${prefix}_best_bleu || echo 0`\n"
        "cp ${prefix}.dev.npz ${prefix}.npz.best_bleu\necho BLEU = `wc -l < dev.output`\n"
    )
    (folder / "validate.sh").chmod(0o755)
    run(
        "mkdir -p models\nhead -n 3 src.txt > few.txt\n"
        "$nematus/data/build_dictionary.py src.txt trg.txt\n"
        f"{THEANO} $nematus/nematus/nmt.py --model models/model.npz --datasets src.txt trg.txt "
        "--dictionaries src.txt.json trg.txt.json --dim_word 8 --dim 8 --n_words_src 300 "
        "--n_words 300 --maxlen 50 --optimizer adam --lrate 0.0001 --batch_size 40 --no_shuffle "
        "--dispFreq 2 --finish_after 4 --valid_datasets src.txt trg.txt --validFreq 4 "
        "--external_validation_script ./validate.sh\n",
        folder,
        nematus=old_programs,
    )
    assert (folder / "dev.output").read_text("utf-8").count("\n") == 3
    for name in ("model.npz", "model.npz.json", "model.npz.dev.npz", "model.npz.npz.best_bleu"):
        assert (folder / "models" / name).exists(), name
