"""Nematus' options, of the Theano version (0.1 to 0.5) and of the TensorFlow version alike.

Scripts for both call the same programs (`nmt.py` or `train.py`, `translate.py`, `score.py`,
`rescore.py`), so each table knows the options of both; defaults are those of either. A default
that differs between the two is a `Between`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from .marian_general import TRANSFORMER
from .rows import (
    NoEffect,
    Refused,
    Row,
    Takes,
    Values,
    always,
    converted,
    many,
    no_effect,
    one,
    one_of,
    optional,
    refused,
    switch,
    two,
)  # fmt: skip


@dataclass(frozen=True)
class Between:
    """A default of the Theano version and of the TensorFlow version."""

    theano: Any
    tensorflow: Any


ONE_PROCESS = "one process uses all processors"
RAML = "--objective is CE or MRT here; there is no reward-augmented maximum likelihood"
DOMAINS = "one corpus is read; --domain-weights weighs several"
FUSION = "there is no deep fusion with a language model"
SAMPLES = "training prints no samples; --valid-translation-output keeps translations"
OBJECTIVES = {"CE": "ce", "MRT": "mrt"}
LOSSES = {
    "cross-entropy": ("ce", "ce-mean"),
    "per-token-cross-entropy": ("ce", "ce-mean-words"),
    "MRT": ("mrt", "ce-mean"),
}
_STRATEGIES = {"beam_search": "beam_search", "sampling": "sampling"}
_SCHEDULES = ("constant", "transformer", "warmup-plateau-decay")


def _reload(values: tuple[str, ...]) -> Values | NoEffect:
    """Theano's flag and TensorFlow's `latest_checkpoint` go on with MODEL, as is done anyway."""
    if values[-1] in ("latest_checkpoint", "true"):
        return NoEffect("the same command goes on where it was saved")
    return {"pretrained_model": values[-1]}


def _loss(values: tuple[str, ...]) -> Values | Refused:
    if values[-1] not in LOSSES:
        return Refused(f"{values[-1]}: cross-entropy, per-token-cross-entropy or MRT is known")
    objective, cost_type = LOSSES[values[-1]]
    return {"objective": objective, "cost_type": cost_type}


def _schedule(values: tuple[str, ...]) -> Values | Refused:
    known = values[-1] in _SCHEDULES
    return {"learning_schedule": values[-1]} if known else Refused(f"{values[-1]}: not known")


def _unit(deep: bool = False):
    """Theano's recurrent layers."""

    def convert(values: tuple[str, ...]) -> Values | Refused | NoEffect:
        name = values[-1]
        if name in ("gru", "gru_cond"):
            if deep and name == "gru_cond":
                return Refused("gru_cond: only the decoder's first level is conditional")
            return NoEffect("the recurrent unit is a GRU unless --cell says otherwise")
        return Refused(f"{name}: Nematus' LSTM is another one; --cell lstm is Marian's")

    return convert


def _depth_bidirectional(values: tuple[str, ...]) -> Refused:
    return Refused(f"{values[-1]}: every level of the encoder is bidirectional; see --enc-type")


def _epochs(values: tuple[str, ...]) -> Values:
    return {"after_epochs": values[-1]}


TRAIN: tuple[Row, ...] = (
    two("--datasets", None, "train_sets", paths=True),
    one("--source_dataset", None, "source_dataset", paths=True),
    one("--target_dataset", None, "target_dataset", paths=True),
    many("--dictionaries", None, "vocabularies", paths=True),
    one("--model --saveto", Between("model.npz", "model"), "model", paths=True),
    one("--saveFreq --save_freq", 30000, "save_freq"),
    optional("--reload", None, "latest_checkpoint", converted("pretrained_model", _reload),
             paths=True),
    refused("--no_reload_training_progress", Takes.NOTHING, False,
            "a run resumes with its progress; --pretrained-model begins anew from its weights"),
    switch("--overwrite", always("overwrite")),
    one("--summary_dir", None, converted("tensorboard", lambda values: {"tensorboard": True})),
    one("--summary_freq --summaryFreq", 0,
        converted("tensorboard", lambda values: {"tensorboard": values[-1] != "0"})),
    refused("--preprocess_script", Takes.ONE, None,
            "training reads its text once; cgru prep prepares it"),
    one("--model_type", "rnn", one_of("type", {"rnn": "cgru"}, TRANSFORMER)),
    one("--dim_word --embedding_size", 512, "dim_emb"),
    one("--dim --state_size", 1000, "dim_rnn"),
    many("--n_words_src --source_vocab_sizes", None, "source_vocab_sizes"),
    one("--n_words --target_vocab_size", Between(None, -1), "target_vocab_size"),
    one("--factors", 1, "factors"),
    many("--dim_per_factor", None, "dim_factors"),
    one("--enc_depth --rnn_enc_depth", 1, "enc_depth"),
    one("--dec_depth --rnn_dec_depth", 1, "dec_depth"),
    one("--enc_recurrence_transition_depth --rnn_enc_transition_depth", 1, "enc_cell_depth"),
    one("--dec_base_recurrence_transition_depth --rnn_dec_base_transition_depth", 2,
        "dec_cell_base_depth"),
    one("--dec_high_recurrence_transition_depth --rnn_dec_high_transition_depth", 1,
        "dec_cell_high_depth"),
    switch("--dec_deep_context --rnn_dec_deep_context", "deep_context"),
    one("--enc_depth_bidirectional", None, converted("enc_type", _depth_bidirectional)),
    switch("--use_dropout --rnn_use_dropout", "use_dropout"),
    one("--dropout_embedding --rnn_dropout_embedding", Between(0.2, 0), "dropout_embedding"),
    one("--dropout_hidden --rnn_dropout_hidden", Between(0.2, 0), "dropout_hidden"),
    one("--dropout_source --rnn_dropout_source", 0, "dropout_source"),
    one("--dropout_target --rnn_dropout_target", 0, "dropout_target"),
    switch("--layer_normalisation --layer_normalization --use_layer_norm "
           "--rnn_layer_normalisation --rnn_layer_normalization", "layer_normalization"),
    one("--layer_normalisation_type --layer_normalization_type", "layernorm",
        "layer_normalization_type"),
    switch("--weight_normalisation --weight_normalization", "weight_normalization"),
    switch("--tie_encoder_decoder_embeddings", "tied_embeddings_src"),
    switch("--tie_decoder_embeddings", "tied_embeddings"),
    one("--output_hidden_activation", "tanh", "readout_activation"),
    one("--softmax_mixture_size", 1, "mixture"),
    switch("--rnn_lexical_model --lexical_model", "lexical"),
    one("--encoder", "gru", converted("enc_cell", _unit())),
    one("--decoder", "gru_cond", converted("dec_cell", _unit())),
    one("--decoder_deep", "gru", converted("dec_cell", _unit(deep=True))),
    refused("--deep_fusion_lm", Takes.ONE, None, FUSION),
    refused("--concatenate_lm_decoder", Takes.NOTHING, False, FUSION),
    one("--maxlen", 100, "max_length"),
    one("--optimizer", "adam", one_of("optimizer", {
        "adam": "adam", "adadelta": "adadelta", "rmsprop": "rmsprop", "sgd": "sgd",
        "sgdmomentum": "sgdmomentum"}, "no such optimizer is known here")),
    one("--adam_beta1", 0.9, "adam_beta1"),
    one("--adam_beta2", 0.999, "adam_beta2"),
    one("--adam_epsilon", 1e-8, "adam_epsilon"),
    one("--batch_size", 80, "mini_batch"),
    one("--token_batch_size", 0, "mini_batch_words"),
    one("--max_epochs", 5000, converted("after_epochs", _epochs)),
    one("--finish_after", 10000000, converted("after", lambda values: {"after": f"{values[-1]}u"})),
    one("--decay_c", 0, "decay_c"),
    one("--map_decay_c", 0, "map_decay_c"),
    one("--prior_model", None, "prior_model", paths=True),
    one("--clip_c", 1, "clip_norm"),
    one("--label_smoothing", 0, "label_smoothing"),
    one("--exponential_smoothing", 0, "exponential_smoothing"),
    one("--lrate --learning_rate", 0.0001, "learn_rate"),
    one("--learning_schedule", "constant", converted("learning_schedule", _schedule)),
    one("--warmup_steps", 8000, "lr_warmup"),
    one("--plateau_steps", 0, "plateau_steps"),
    switch("--no_shuffle", "no_shuffle"),
    switch("--no_sort_by_length",
           converted("maxi_batch_sort", lambda values: {"maxi_batch_sort": "none"})),
    one("--maxibatch_size", 20, "maxi_batch"),
    no_effect("--keep_train_set_in_memory", Takes.NOTHING, False,
              "batches are drawn from a file in the folder of the model"),
    no_effect("--max_sentences_per_device", Takes.ONE, 0, "devices get equal parts of a batch"),
    no_effect("--max_tokens_per_device", Takes.ONE, 0, "devices get equal parts of a batch"),
    one("--gradient_aggregation_steps", 1, "gradient_aggregation_steps"),
    refused("--print_per_token_pro", Takes.ONE, False, "cgru score --word-scores prints them"),
    one("--objective", "CE", one_of("objective", OBJECTIVES, RAML)),
    one("--loss_function", "cross-entropy", converted("objective", _loss)),
    refused("--encoder_truncate_gradient", Takes.ONE, -1, "gradients go back to the first word"),
    refused("--decoder_truncate_gradient", Takes.ONE, -1, "gradients go back to the first word"),
    two("--valid_datasets", None, "valid_sets", paths=True),
    one("--valid_source_dataset", None, "valid_source_dataset", paths=True),
    one("--valid_target_dataset", None, "valid_target_dataset", paths=True),
    refused("--valid_bleu_source_dataset", Takes.ONE, None,
            "one source is validated on, --valid_source_dataset"),
    one("--valid_batch_size", 80, "valid_mini_batch"),
    no_effect("--valid_token_batch_size", Takes.ONE, 0, "batches of validation keep to the memory"),
    one("--validFreq --valid_freq", 10000, "valid_freq"),
    one("--external_validation_script --valid_script", None, "valid_script", paths=True),
    one("--patience", 10, "early_stopping"),
    refused("--anneal_restarts", Takes.ONE, 0, "use --lr-decay with --lr-decay-strategy stalled"),
    refused("--anneal_decay", Takes.ONE, 0.5, "use --lr-decay with --lr-decay-strategy stalled"),
    one("--dispFreq --disp_freq", 1000, "disp_freq"),
    no_effect("--sampleFreq --sample_freq", Takes.ONE, 10000, SAMPLES),
    no_effect("--beamFreq --beam_freq", Takes.ONE, 10000, SAMPLES),
    one("--beam_size", 12, "beam_size"),
    optional("--normalization_alpha", 0, "1", "normalize"),
    no_effect("--n_best", Takes.NOTHING, False, "validation takes the best translation"),
    no_effect("--no_normalize", Takes.NOTHING, False, "see --normalization_alpha"),
    no_effect("--n_threads", Takes.ONE, 5, ONE_PROCESS),
    one("--translation_maxlen", 200, "valid_translation_maxlen"),
    no_effect("--translation_strategy", Takes.ONE, "beam_search", SAMPLES),
    no_effect("--sampling_temperature", Takes.ONE, 1, SAMPLES),
    refused("--run_validation", Takes.NOTHING, False, "use cgru score"),
    refused("--translate_valid", Takes.NOTHING, False, "use cgru translate"),
    switch("--mrt_reference", "mrt_reference"),
    one("--mrt_alpha", 0.005, "mrt_alpha"),
    one("--mrt_samples --samplesN", 100, "mrt_samples"),
    no_effect("--mrt_samples_meanloss", Takes.ONE, 10,
              "the mean loss is that of the samples themselves"),
    one("--mrt_loss", "SENTENCEBLEU n=4", "mrt_loss"),
    one("--mrt_ml_mix", 0, "mrt_ml_mix"),
    one("--sample_way", "beam_search", "sample_way"),
    no_effect("--max_len_a", Takes.ONE, 1.5, "samples are as long as translations may be"),
    no_effect("--max_len_b", Takes.ONE, 5, "samples are as long as translations may be"),
    no_effect("--max_sentences_of_sampling", Takes.ONE, 0, "samples are drawn as memory allows"),
    refused("--raml_tau", Takes.ONE, 0.85, RAML),
    refused("--raml_samples", Takes.ONE, 1, RAML),
    refused("--raml_reward", Takes.ONE, "hamming_distance", RAML),
    refused("--use_domain_interpolation", Takes.NOTHING, False, DOMAINS),
    refused("--domain_interpolation_min", Takes.ONE, 0.1, DOMAINS),
    refused("--domain_interpolation_max", Takes.ONE, 1.0, DOMAINS),
    refused("--domain_interpolation_inc", Takes.ONE, 0.1, DOMAINS),
    refused("--domain_interpolation_indomain_datasets", Takes.TWO, None, DOMAINS),
    refused("--finetune", Takes.NOTHING, False, "use --freeze with names of parameters"),
    refused("--finetune_only_last", Takes.NOTHING, False, "use --freeze with names of parameters"),
    refused("--alpha_c", Takes.ONE, 0, "alignments are not regularised; see --guided-alignment"),
    refused("--pos_win", Takes.ONE, 10, "there is no local attention"),
    *(
        refused(f"--transformer_{name}", Takes.ONE, default, TRANSFORMER)
        for name, default in (
            ("enc_depth", 6), ("dec_depth", 6), ("encoder_layers", 6), ("decoder_layers", 6),
            ("ffn_hidden_size", 2048), ("num_heads", 8), ("dropout_embeddings", 0.1),
            ("dropout_residual", 0.1), ("dropout_relu", 0.1), ("dropout_attn", 0.1),
            ("drophead", 0),
        )
    ),
)  # fmt: skip

_ALL: tuple[Row, ...] = (
    many("-m --models", None, "model", paths=True),
    one("-o --output", None, "output", paths=True),
    optional("-n --normalization_alpha", 0, "1", "normalize"),
)  # fmt: skip

TRANSLATE: tuple[Row, ...] = (
    *_ALL,
    no_effect("-v --verbose", Takes.NOTHING, False, "warnings are always shown"),
    one("-i --input", None, "input", paths=True),
    one("-k --beam_size", 5, "beam_size"),
    one("-b --minibatch_size", Between(None, 80), "mini_batch"),
    one("--maxibatch_size", 20, "maxi_batch"),
    no_effect("-p --num_processes", Takes.ONE, 1, ONE_PROCESS),
    no_effect("-dl --device-list", Takes.MANY, None, "--device chooses"),
    switch("-c", "char_level"),
    one("-a --output_alignment", None, "output_alignment", paths=True),
    switch("--json_alignment",
           converted("alignment_format", lambda values: {"alignment_format": "json"})),
    switch("--n-best --n_best", "n_best"),
    switch("--suppress-unk --suppress_unk", "suppress_unk"),
    switch("-wp --print-word-probabilities", "word_scores"),
    refused("-sg --search_graph", Takes.ONE, None, "search graphs are not written"),
    one("-mr --max-ratio", 0, "max_length_factor"),
    one("--translation_maxlen", 200, "translation_maxlen"),
    one("--translation_strategy", "beam_search", one_of("translation_strategy", _STRATEGIES,
                                                        "beam_search or sampling is known")),
    optional("--sampling_temperature", 1, "1", "sampling_temperature"),
)  # fmt: skip

SCORE: tuple[Row, ...] = (
    *_ALL,
    switch("-v --verbose", "print_target"),
    no_effect("-p", Takes.ONE, 1, ONE_PROCESS),
    one("-b --minibatch_size", 80, "mini_batch"),
    one("-s --source", None, "source", paths=True),
    one("-t --target", None, "target", paths=True),
    one("-i --input", None, "n_best", paths=True),
    refused("-w --walign", Takes.NOTHING, False,
            "alignments are written with the scores; use --alignment-format nematus"),
)  # fmt: skip


_EXTERNAL = one("--external_validation_script", None, "external_validation_script", paths=True)


def of_version(rows: tuple[Row, ...], *, theano: bool) -> list[Row]:
    """The rows with the defaults of one version."""

    def default(row: Row) -> Any:
        both = row.default
        if not isinstance(both, Between):
            return both
        return both.theano if theano else both.tensorflow

    chosen = [dataclasses.replace(row, default=default(row)) for row in rows]
    if theano:  # it calls the script with nothing; Nematus-TF gives it a file of translations
        chosen = [_EXTERNAL if "--valid_script" in row.flags else row for row in chosen]
    return chosen
