"""The cost of each target word."""

import tensorflow as tf


def word_costs(
    logits: tf.Tensor,
    words: tf.Tensor,
    label_smoothing: float = 0.0,
    *,
    shares: tf.Tensor | None = None,
    compiled: bool = False,
) -> tf.Tensor:
    """(1-e) * -log p_y + e * mean_v(-log p_v) of each row, in nats: (N,V), (N,) -> (N,).

    shares: (N,K) for words (N,K), with sum 1 in each row; the sum of -share * log p_word replaces
    -log p_y. compiled: whether XLA compiles the function.

    TensorFlow's own operation takes more than twice the time on CPUs, and label smoothing would
    read the logits once more; here the gradient reuses the exponentials of the forward pass, and
    the exponentials reuse the memory of the logits, the largest tensor of an update. XLA lacks the
    operation for that, but reuses memory itself.
    """
    rest = 1 - label_smoothing
    if shares is None:
        words, shares = words[:, None], tf.ones([1, 1])
    target_shares = rest * tf.cast(shares, logits.dtype)

    @tf.custom_gradient
    def costs(logits: tf.Tensor) -> tuple:
        top = tf.reduce_max(logits, axis=-1, keepdims=True)
        chosen = tf.gather(logits, words, batch_dims=1)
        target = tf.reduce_sum(target_shares * (chosen - top), axis=-1, keepdims=True)
        if label_smoothing:
            target += label_smoothing * (tf.reduce_mean(logits, axis=-1, keepdims=True) - top)
        with tf.control_dependencies([target]):  # so that the exponentials reuse the logits' memory
            exponentials = tf.exp(logits - top)
        total = tf.reduce_sum(exponentials, axis=-1, keepdims=True)
        cost = tf.math.log(total) - target

        def gradient(d_cost: tf.Tensor) -> tf.Tensor:
            """softmax - (1-e) * one-hot - e / V."""
            d_logits = exponentials * (d_cost[:, None] / total)
            if label_smoothing:
                d_logits -= (label_smoothing / logits.shape[-1]) * d_cost[:, None]
            count, each = tf.unstack(tf.shape(words))
            rows = tf.repeat(tf.range(count), each)
            places = tf.stack([rows, tf.reshape(words, [-1])], axis=1)
            updates = tf.reshape(target_shares * d_cost[:, None], [-1])
            if compiled:
                return tf.tensor_scatter_nd_sub(d_logits, places, updates)
            return tf.raw_ops.ScatterNdNonAliasingAdd(
                input=d_logits, indices=places, updates=-updates
            )

        return tf.squeeze(cost, 1), gradient

    return costs(logits)
