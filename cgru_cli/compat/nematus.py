"""Nematus' options, for both the Theano version (0.1 to 0.5) and the TensorFlow version.

Scripts for both call the same programs (`nmt.py` or `train.py`, `translate.py`, `score.py`,
`rescore.py`), so each table has the options of both. If the defaults differ, a bar separates
Theano's from TensorFlow's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from ..errors import UsageError
from .fields import Fields
from .marian import TRANSFORMER
from .marian_train import settle_training
from .row import Conversion, NoEffect, Option, Refused, Row, Values
from .rows import computed, counts_eos, no_effect, one_of, refused, row, rows, switched

RAML = "--objective is CE or MRT here; cgru has no reward-augmented maximum likelihood"
OBJECTIVES = {"CE": "ce", "MRT": "mrt"}
LOSSES = {
    "cross-entropy": ("ce", "ce-mean"),
    "per-token-cross-entropy": ("ce", "ce-mean-words"),
    "MRT": ("mrt", "ce-mean"),
}
SCHEDULES = {name: name for name in ("constant", "transformer", "warmup-plateau-decay")}
OPTIMIZERS = {name: name for name in "adam adadelta rmsprop sgd sgdmomentum".split()}
NO_OPTIMIZER = "cgru has no such optimizer"


def _reload(values: tuple[str, ...]) -> Values:
    """Resume MODEL if it exists, for Theano's flag and TensorFlow's `latest_checkpoint`."""
    if values[-1] in ("latest_checkpoint", "true"):
        return {"no_reload": False}
    return {"pretrained_model": values[-1]}


def _loss(values: tuple[str, ...]) -> Values | Refused:
    if values[-1] not in LOSSES:
        return Refused(f"{values[-1]}: cross-entropy, per-token-cross-entropy or MRT is known")
    objective, cost_type = LOSSES[values[-1]]
    return {"objective": objective, "cost_type": cost_type}


def _unit(deep: bool = False) -> Conversion:
    """Check the recurrent layer named by the Theano version."""

    def convert(values: tuple[str, ...]) -> Refused | NoEffect:
        name = values[-1]
        if name == "gru_cond" and deep:
            return Refused("gru_cond: only the decoder's first level is conditional")
        if name in ("gru", "gru_cond"):
            return NoEffect("the recurrent unit is a GRU unless --cell says otherwise")
        return Refused(f"{name}: Nematus' LSTM differs from --cell lstm, which is Marian's")

    return convert


def patience(validations: Callable[[int], int]) -> Option:
    """Early stopping by a program that ends after another number of validations than its limit."""
    return computed("early_stopping", lambda v: str(validations(int(v))) if v.isdecimal() else v)


TRAIN = (
    *rows("""
        --datasets FILE... -> train_sets, --source_dataset FILE, --target_dataset FILE,
        --dictionaries FILE... -> vocabularies, --model --saveto FILE = model.npz | model,
        --saveFreq --save_freq N = 30000 -> save_freq,
        --dim_word --embedding_size N = 512 -> dim_emb, --dim --state_size N = 1000 -> dim_rnn,
        --n_words_src --source_vocab_sizes N... -> source_vocab_sizes,
        --n_words --target_vocab_size N = | -1 -> target_vocab_size, --factors N = 1,
        --dim_per_factor N... -> dim_factors, --enc_depth --rnn_enc_depth N = 1,
        --dec_depth --rnn_dec_depth N = 1,
        --enc_recurrence_transition_depth --rnn_enc_transition_depth N = 1 -> enc_cell_depth,
        --dec_base_recurrence_transition_depth --rnn_dec_base_transition_depth N = 2
        -> dec_cell_base_depth,
        --dec_high_recurrence_transition_depth --rnn_dec_high_transition_depth N = 1
        -> dec_cell_high_depth,
        --dec_deep_context --rnn_dec_deep_context -> deep_context, --use_dropout --rnn_use_dropout,
        --dropout_embedding --rnn_dropout_embedding P = 0.2 | 0,
        --dropout_hidden --rnn_dropout_hidden P = 0.2 | 0,
        --dropout_source --rnn_dropout_source P = 0, --dropout_target --rnn_dropout_target P = 0,
        --layer_normalisation --layer_normalization --use_layer_norm --rnn_layer_normalisation
        --rnn_layer_normalization -> layer_normalization,
        --layer_normalisation_type --layer_normalization_type X = layernorm
        -> layer_normalization_type,
        --weight_normalisation --weight_normalization -> weight_normalization,
        --tie_encoder_decoder_embeddings -> tied_embeddings_src,
        --tie_decoder_embeddings -> tied_embeddings,
        --output_hidden_activation X = tanh -> readout_activation,
        --softmax_mixture_size N = 1 -> mixture, --rnn_lexical_model --lexical_model -> lexical,
        --maxlen N = 100 -> max_length, --adam_beta1 X = 0.9, --adam_beta2 X = 0.999,
        --adam_epsilon X = 1e-08, --batch_size N = 80 -> mini_batch,
        --token_batch_size N = 0 -> mini_batch_words, --max_epochs N = 5000 -> after_epochs,
        --decay_c X = 0, --map_decay_c X = 0, --prior_model FILE, --clip_c X = 1 -> clip_norm,
        --label_smoothing X = 0, --exponential_smoothing X = 0,
        --lrate --learning_rate X = 0.0001 -> learn_rate, --warmup_steps N = 8000 -> lr_warmup,
        --plateau_steps N = 0, --no_shuffle, --maxibatch_size N = 20 -> maxi_batch,
        --valid_datasets FILE... -> valid_sets, --valid_source_dataset FILE,
        --valid_target_dataset FILE, --valid_batch_size N = 80 -> valid_mini_batch,
        --validFreq --valid_freq N = 10000 -> valid_freq,
        --external_validation_script --valid_script FILE -> valid_script,
        --patience N = 10 -> early_stopping, --dispFreq --disp_freq N = 1000 -> disp_freq,
        --beam_size N = 12, --normalization_alpha [1] = 0 -> normalize, --mrt_reference,
        --mrt_alpha X = 0.005, --mrt_samples --samplesN N = 100, --mrt_loss X = SENTENCEBLEU n=4,
        --mrt_ml_mix X = 0, --sample_way X = beam_search, --overwrite"""),
    row("--reload [latest_checkpoint]", Option("pretrained_model", _reload)),
    row("--summary_dir X", Option("tensorboard", lambda values: {"tensorboard": True})),
    row(
        "--summary_freq --summaryFreq N = 0",
        Option("tensorboard", lambda values: {"tensorboard": values[-1] != "0"}),
    ),
    row("--model_type X = rnn", one_of("type", {"rnn": "cgru"}, TRANSFORMER)),
    row("--encoder X = gru", Option("enc_cell", _unit())),
    row("--decoder X = gru_cond", Option("dec_cell", _unit())),
    row("--decoder_deep X = gru", Option("dec_cell", _unit(deep=True))),
    row("--optimizer X = adam", one_of("optimizer", OPTIMIZERS, NO_OPTIMIZER)),
    row("--finish_after N = 10000000", Option("after", lambda values: {"after": f"{values[-1]}u"})),
    row("--learning_schedule X = constant", one_of("learning_schedule", SCHEDULES, "not known")),
    row("--no_normalize", switched("normalize", "0")),
    row("--no_sort_by_length", switched("maxi_batch_sort", "none")),
    row("--objective X = CE", one_of("objective", OBJECTIVES, RAML)),
    row("--loss_function X = cross-entropy", Option("objective", _loss)),
    *no_effect("""
        --gradient_aggregation_steps N = 1, --max_sentences_per_device N = 0,
        --max_tokens_per_device N = 0:
        each device computes its part of a batch at once: the same gradient, with more memory
        --keep_train_set_in_memory: batches are read from a file beside the model
        --valid_token_batch_size N = 0: the batches of validation fit into memory
        --sampleFreq --sample_freq N = 10000, --beamFreq --beam_freq N = 10000,
        --translation_strategy X = beam_search, --sampling_temperature X = 1:
        training prints no samples; --valid-translation-output writes translations
        --translation_maxlen N = 200: translations of the validation text have 200 words at most
        --n_best: validation takes the best translation
        --n_threads N = 5: one process uses all processors
        --mrt_samples_meanloss N = 10: the gradient of the risk is the same without a mean loss
        --max_len_a X = 1.5, --max_len_b X = 5: samples are as long as translations may be
        --max_sentences_of_sampling N = 0: samples are drawn as memory allows"""),
    *refused("""
        --enc_depth_bidirectional N: every level of the encoder is bidirectional; see --enc-type
        --no_reload_training_progress:
        a run resumes with its progress; --pretrained-model starts afresh from its weights
        --preprocess_script X: training reads its text once; cgru prep prepares it
        --deep_fusion_lm X, --concatenate_lm_decoder: cgru has no deep fusion with a language model
        --print_per_token_pro X = false: cgru score --word-scores prints them
        --encoder_truncate_gradient N = -1, --decoder_truncate_gradient N = -1:
        gradients are not truncated
        --valid_bleu_source_dataset X: see --valid_source_dataset
        --anneal_restarts N = 0, --anneal_decay X = 0.5:
        use --lr-decay with --lr-decay-strategy stalled
        --run_validation: use cgru score
        --translate_valid: use cgru translate
        --raml_tau X = 0.85, --raml_samples N = 1, --raml_reward X = hamming_distance:
        --objective is CE or MRT here; cgru has no reward-augmented maximum likelihood
        --use_domain_interpolation, --domain_interpolation_min X = 0.1,
        --domain_interpolation_max X = 1, --domain_interpolation_inc X = 0.1,
        --domain_interpolation_indomain_datasets X...:
        there is no interpolation; --domain-weights weights several corpora
        --finetune, --finetune_only_last: use --freeze with parameter names
        --alpha_c X = 0: alignments are not regularised; see --guided-alignment
        --pos_win N = 10: cgru has no local attention
        --transformer_enc_depth N = 6, --transformer_dec_depth N = 6,
        --transformer_encoder_layers N = 6, --transformer_decoder_layers N = 6,
        --transformer_ffn_hidden_size N = 2048, --transformer_num_heads N = 8,
        --transformer_dropout_embeddings P = 0.1, --transformer_dropout_residual P = 0.1,
        --transformer_dropout_relu P = 0.1, --transformer_dropout_attn P = 0.1,
        --transformer_drophead P = 0: a recurrent model has no transformer layers"""),
)
# Settings of the trainer that its options cannot change.
DEFAULTS = {
    "init": "nematus",
    "valid_metrics": ("cross-entropy",),
    "normalize": "0",
    "cost_type": "ce-mean",
    "no_reload": True,  # unless --reload resumes an earlier run
}

_EXTERNAL = row("--external_validation_script FILE")


def of_version(both: Iterable[Row], *, theano: bool) -> list[Row]:
    """The rows of both versions, with the defaults of one version."""
    chosen = []
    for one in both:
        text = " ".join(one.default)
        if "|" in text:
            default = text.split("|")[0 if theano else 1].strip()
            one = dataclasses.replace(one, default=(default,) if default else ())
        if theano and "--valid_script" in one.flags:  # only Nematus-TF passes a file to the script
            one = _EXTERNAL
        if theano and "--maxlen" in one.flags:  # its limit includes EOS
            one = dataclasses.replace(one, meaning=counts_eos("max_length"))
        if not theano and "--patience" in one.flags:
            one = dataclasses.replace(one, meaning=patience(lambda limit: limit + 1))
        chosen.append(one)
    return chosen


def settle_training_of_theano(o: Fields) -> None:
    """Replace options that cgru's trainer lacks, as in Nematus on Theano and DL4MT."""
    uses_dropout = o.take("use_dropout")
    if uses_dropout and o.program == "dl4mt":  # which has no other dropout
        if o.values.get("type", "cgru") == "cgru":
            o.values["dropout_output"] = "0.5"
        else:
            o.note("--use_dropout", "only the conditional GRU of DL4MT has dropout")
    elif uses_dropout:
        o.values["dropout_output"] = o.values["dropout_hidden"]
    else:
        for rate in ("dropout_embedding", "dropout_hidden", "dropout_source", "dropout_target"):
            if rate in o.given:
                o.note(f"--{rate}", "there is no dropout without --use_dropout")
            o.take(rate)
    name = o.values.get("optimizer")
    if name in ("adadelta", "rmsprop"):  # which ignore the learning rate
        if "learn_rate" in o.given:
            o.note("--lrate", f"{name} of Nematus and DL4MT has a rate of its own")
        rms = ("0.95", "0.9", "1e-4", "1")  # rho, momentum, epsilon, centred
        o.values["optimizer_params"] = rms if name == "rmsprop" else ("0.95", "1e-6")
        o.values["learn_rate"] = "1e-4" if name == "rmsprop" else "1"
    if o.values.get("objective") == "mrt":
        if "mini_batch" in o.given:
            o.note(o.origins["mini_batch"], "minimum risk training updates after every sentence")
        o.values["mini_batch"] = "1"
        o.values["no_restore_corpus"] = True  # the run may have begun with larger mini-batches
    _settle_both(o)


def settle_training_of_tensorflow(o: Fields) -> None:
    """Replace options that cgru's trainer lacks; Nematus-TF has no switch for dropout."""
    if o.take("use_dropout"):
        for name in ("dropout_embedding", "dropout_hidden"):
            if name not in o.given:
                o.values[name] = "0.2"
    for name in ("decay_c", "map_decay_c"):
        if weight := o.number(name):  # of half the sum of squares
            o.values[name] = repr(weight / 2)
    if o.values.get("valid_script"):
        o.values.setdefault("early_stopping_on", "all")  # a better score also resets the count
    _settle_both(o)


def _settle_both(o: Fields) -> None:
    _files_of_each_side(o, "train_sets", "source_dataset", "target_dataset")
    _files_of_each_side(o, "valid_sets", "valid_source_dataset", "valid_target_dataset")
    _vocabularies(o)
    if (origin := o.origins.get("pretrained_model", "")).startswith("--reload"):
        o.note(origin, "on the optimiser and the progress; a new run starts from its weights")
    if o.values.get("optimizer") == "sgdmomentum":
        o.values |= {"optimizer": "sgd", "optimizer_params": ("0.9",)}
    adam = ("adam_beta1", "adam_beta2", "adam_epsilon")
    changed = next((beta for beta in adam if beta in o.given), None)
    betas = tuple(o.values.get(beta) for beta in adam)
    if changed and o.values.get("optimizer", "adam") == "adam":
        o.replace("optimizer_params", betas, by=changed)
    for beta in adam:
        o.take(beta)
    if o.number("clip_norm") < 0:
        o.values["clip_norm"] = "0"
    _schedule(o)
    if o.values.get("layer_normalization") and o.values["layer_normalization_type"] == "rmsnorm":
        o.values["normalization_form"] = "rms"
    o.take("layer_normalization_type")
    if o.values.get("type", "cgru") != "cgru":
        o.drop_default("dec_cell_base_depth")  # the default of the conditional GRU
    if o.take("sample_way") == "beam_search" and o.values.get("objective") == "mrt":
        o.note("--sample_way beam_search", "samples are drawn, as by randomly_sample")
    settle_training(o)


def _files_of_each_side(o: Fields, name: str, source: str, target: str) -> None:
    """Join the source and target files, unless one option names both."""
    sides = {side: o.values[side] for side in (source, target) if o.values.get(side)}
    if not sides:
        return
    if o.values.get("type") == "lm":
        if source in sides:
            raise UsageError(f"{o.origins[source]}: a language model reads no source")
    elif len(sides) < 2 or o.values.get(name):
        raise UsageError(
            f"--{source} and --{target} go together, and exclude "
            f"--{'valid_' if source.startswith('valid') else ''}datasets"
        )
    o.take(source)
    o.replace(name, tuple(sides.values()), by=target)


def _vocabularies(o: Fields) -> None:
    """Join the vocabulary sizes of source and target, and check the number of factors."""
    sources, target = [*o.numbers("source_vocab_sizes")], o.number("target_vocab_size")
    o.take("source_vocab_sizes")
    o.take("target_vocab_size")
    if o.values.get("type") == "lm":  # a language model has one vocabulary
        numbers = [target]
    else:
        count = max(len(o.values.get("vocabularies", ())) - 1, 1)
        of_others = sources[-1:] if o.program != "nematus-tf" else []  # one limit in Theano
        numbers = [*sources, *(of_others or [0]) * (count - len(sources)), target]
    sizes = [max(int(number), 0) for number in numbers]
    if any(sizes):
        o.values["dim_vocabs"] = tuple(map(str, sizes))
    widths, factors = o.values.get("dim_factors", ()), o.whole("factors")
    if widths and factors != len(widths):
        raise UsageError(f"--factors {factors}: --dim_per_factor has {len(widths)} widths")


def _schedule(o: Fields) -> None:
    """Replace the schedule with the equivalent options of Marian."""
    schedule, plateau = o.take("learning_schedule"), o.whole("plateau_steps")
    if schedule == "constant":
        if "lr_warmup" in o.given or "plateau_steps" in o.given:
            raise UsageError(
                "--warmup_steps and --plateau_steps need another --learning_schedule than constant"
            )
        o.take("lr_warmup")
        return
    steps = int(o.number("lr_warmup"))
    if schedule == "transformer":
        if "learn_rate" in o.given or "plateau_steps" in o.given:
            raise UsageError(
                "--learning_schedule transformer: --state_size and --warmup_steps make the rate"
            )
        width = int(o.number("dim_rnn")) or 1000
        o.values["learn_rate"] = repr((width * steps) ** -0.5)
    o.values["lr_decay_inv_sqrt"] = str(steps + plateau)
