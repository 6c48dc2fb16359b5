"""The cost of each target word."""

import tensorflow as tf

from .inference import with_gradient


def word_costs(
    logits: tf.Tensor, words: tf.Tensor, label_smoothing: float = 0.0, *, compiled: bool = False
) -> tf.Tensor:
    """(1-e) * -log p_y + e * mean_v(-log p_v) of each row, in nats: (N,V), (N,) -> (N,).

    TensorFlow's own operation takes more than twice the time on CPUs, and label smoothing would
    read the logits once more; here the gradient reuses the exponentials of the forward pass. The
    memory of the logits, the largest tensor of an update, is reused too. compiled: by XLA, which
    reuses memory itself and lacks the operation used elsewhere for that.
    """
    rest = 1 - label_smoothing

    @with_gradient
    def costs(logits: tf.Tensor) -> tuple:
        top = tf.reduce_max(logits, axis=-1, keepdims=True)
        chosen = tf.gather(logits, words, batch_dims=1)[:, None]
        wanted = rest * (chosen - top)
        if label_smoothing:
            wanted += label_smoothing * (tf.reduce_mean(logits, axis=-1, keepdims=True) - top)
        with tf.control_dependencies([wanted]):  # so that the exponentials reuse the logits' memory
            exponentials = tf.exp(logits - top)
        total = tf.reduce_sum(exponentials, axis=-1, keepdims=True)
        cost = tf.math.log(total) - wanted

        def gradient(d_cost: tf.Tensor) -> tf.Tensor:
            """softmax - (1-e) * one-hot - e / V."""
            d_logits = exponentials * (d_cost[:, None] / total)
            if label_smoothing:
                d_logits -= (label_smoothing / logits.shape[-1]) * d_cost[:, None]
            places = tf.stack([tf.range(tf.size(words)), words], axis=1)
            if compiled:
                return tf.tensor_scatter_nd_sub(d_logits, places, rest * d_cost)
            return tf.raw_ops.ScatterNdNonAliasingAdd(
                input=d_logits, indices=places, updates=-rest * d_cost
            )

        return tf.squeeze(cost, 1), gradient

    return costs(logits)
