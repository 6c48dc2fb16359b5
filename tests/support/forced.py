"""Forced decoding: logits and attention at every position of given translations."""

from typing import Any, NamedTuple

import tensorflow as tf

from cgru_cli.network.forced_decoding import unroll
from cgru_cli.network.network import Network


class Forced(NamedTuple):
    """Logits and attention of given target words; T counts EOS."""

    logits: tf.Tensor  # (B,T,V) float32
    alignment: tf.Tensor | tuple  # (B,T,S) float32; () without attention


def force_decode(network: Network, *batch: tf.Tensor, **more: Any) -> Forced:
    """Logits and alignment at every target position; for the arguments see `unroll`."""
    unrolled = unroll(network, *batch, **more)
    logits = network.read_out(*unrolled)
    return Forced(tf.transpose(logits, [1, 0, 2]), unrolled.alignment())
