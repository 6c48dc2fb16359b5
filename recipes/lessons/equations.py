"""The equations of every type of model in NumPy, for one sentence and one layer.

`a` holds the arrays of a model by their names in DL4MT and Nematus (docs/names.md). Vectors are
rows, so that a product reads `x @ W`. Letters of shapes: S source words and T target words, each
with EOS at the end; E width of embeddings, D of states, C of annotations (2D with two readers), V
words of the target vocabulary, L labels.

There are no batches, no masks and no depth here, and no normalisation. The package computes the
same numbers faster, and the tests compare the two.
"""

import itertools

import numpy as np


def sigma(x):
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


def softmax(x):
    """Probabilities, over the last axis."""
    exp = np.exp(x - x.max(axis=-1, keepdims=True))
    return exp / exp.sum(axis=-1, keepdims=True)


# -- recurrent units: the next state of a state h (D,) and an input x (E,) -------------------------


def sums(a, cell, h, x, c=None):
    """x W + h U + b, and c Wc if the cell also reads a context c (C,)."""
    total = x @ a[f"{cell}_W"] + h @ a[f"{cell}_U"] + a[f"{cell}_b"]
    return total if c is None else total + c @ a[f"{cell}_Wc"]


def plain(a, cell, h, x):
    """Plain recurrent unit (Elman 1990)."""
    return np.tanh(sums(a, cell, h, x))


def gru(a, cell, h, x, c=None):
    """Gated recurrent unit, the reset after the product: r resets h, z keeps h, p is proposed."""
    r, z = np.split(sigma(sums(a, cell, h, x, c)), 2)
    p = x @ a[f"{cell}_Wx"] + r * (h @ a[f"{cell}_Ux"]) + a[f"{cell}_bx"]
    p = np.tanh(p if c is None else p + c @ a[f"{cell}_Wcx"])
    return z * h + (1 - z) * p


def gru_before(a, cell, h, x):
    """Gated recurrent unit, the reset before the product (Cho et al. 2014)."""
    r, z = np.split(sigma(sums(a, cell, h, x)), 2)
    p = np.tanh(x @ a[f"{cell}_Wx"] + (r * h) @ a[f"{cell}_Ux"] + a[f"{cell}_bx"])
    return z * h + (1 - z) * p


def lstm(a, cell, h, x, memory):
    """Long short-term memory (Hochreiter and Schmidhuber 1997): output and memory, (D,) each."""
    f, i, g, o = np.split(sums(a, cell, h, x), 4)
    memory = sigma(f) * memory + sigma(i) * np.tanh(g)
    return sigma(o) * np.tanh(memory), memory


# -- parts of the models ---------------------------------------------------------------------------


def read(a, cell, ids):
    """The states (S,D) of one reader of the encoder, which begins with zeros."""
    h, states = np.zeros(len(a[f"{cell}_Ux"])), []
    for x in a["Wemb"][ids]:
        h = gru(a, cell, h, x)
        states.append(h)
    return np.array(states)


def annotations(a, ids):
    """h_i = [forward ; backward], (S,2D): each word with its surroundings."""
    forward, backward = read(a, "encoder", ids), read(a, "encoder_r", ids[::-1])[::-1]
    return np.concatenate([forward, backward], axis=1)


def first_state(a, v):
    """s_0 = tanh(v W_init + b), (D,)."""
    return np.tanh(v @ a["ff_state_W"] + a["ff_state_b"])


def attention(a, s, h):
    """Equations 6 to 8: the context c_j (C,) that state s finds in h (S,C), and alpha_j (S,)."""
    e = np.tanh(s @ a["decoder_W_comb_att"] + h @ a["decoder_Wc_att"] + a["decoder_b_att"])
    alpha = softmax((e @ a["decoder_U_att"])[:, 0])
    return alpha @ h, alpha


def target_embedding(a):
    """E (V,E); a model with one embedding has it as `Wemb`."""
    return a.get("Wemb_dec", a["Wemb"])


def readout(a, s, y, c=None):
    """t_j = tanh(s U_o + y V_o + c C_o + b), (E,); y is the embedding of the word before."""
    t = s @ a["ff_logit_lstm_W"] + a["ff_logit_lstm_b"] + y @ a["ff_logit_prev_W"]
    t = t + a["ff_logit_prev_b"]
    return np.tanh(t if c is None else t + c @ a["ff_logit_ctx_W"] + a["ff_logit_ctx_b"])


def output(a, t):
    """p(y_j) = softmax(t_j W_o + b_o), (V,); W_o is E^T where embeddings are tied."""
    W_o = a["ff_logit_W"] if "ff_logit_W" in a else target_embedding(a).T
    return softmax(t @ W_o + a["ff_logit_b"])


# -- types of models: memory of the source, the first state, and one step --------------------
# A step takes the state before, y = E[y_{j-1}] (zeros at the first word) and what is kept of the
# source; it returns the probabilities of the next word (V,), the new state, and alpha_j if any.


def cgru_begin(a, ids):
    """The annotations h (S,C), and s_0 from their mean."""
    h = annotations(a, ids)
    return h, first_state(a, h.mean(axis=0))


def cgru_step(a, s, y, h):
    """Conditional GRU, equations 1 to 12 of Firat and Cho (2016): attention between two cells."""
    s1 = gru(a, "decoder", s, y)  # 2 to 5
    c, alpha = attention(a, s1, h)  # 6 to 8
    r, z = np.split(sigma(c @ a["decoder_Wc"] + s1 @ a["decoder_U_nl"] + a["decoder_b_nl"]), 2)
    p = np.tanh(c @ a["decoder_Wcx"] + r * (s1 @ a["decoder_Ux_nl"] + a["decoder_bx_nl"]))  # 10
    s = z * s1 + (1 - z) * p  # 9; r and z are 11 and 12
    return output(a, readout(a, s, y, c)), s, alpha


rnnsearch_begin = cgru_begin


def rnnsearch_step(a, s, y, h):
    """Bahdanau, Cho and Bengio (2015): attention from the state before, one cell."""
    c, alpha = attention(a, s, h)
    s = gru(a, "decoder", s, y, c)
    return output(a, readout(a, s, y, c)), s, alpha


def encdec_begin(a, ids):
    """The decoder sees only the encoder's last state C (D,)."""
    C = read(a, "encoder", ids)[-1]
    return C, first_state(a, C)


def encdec_step(a, s, y, C):
    """Cho et al. (2014): every step reads C."""
    s = gru(a, "decoder", s, y, C)
    return output(a, readout(a, s, y, C)), s, None


def seq2seq_begin(a, ids):
    """The decoder continues from the encoder's last state and sees nothing else of the source."""
    return "decoder", read(a, "encoder", ids)[-1]


def lm_begin(a, ids):
    """There is no source; DL4MT's language model calls its cell `encoder`."""
    return "encoder", np.zeros(len(a["encoder_Ux"]))


def lm_step(a, s, y, cell):
    """Recurrent language model; the decoder of sequence to sequence (Sutskever et al. 2014)."""
    s = gru(a, cell, s, y)
    return output(a, readout(a, s, y)), s, None


TYPES = {
    "cgru": (cgru_begin, cgru_step),
    "rnnsearch": (rnnsearch_begin, rnnsearch_step),
    "encdec": (encdec_begin, encdec_step),
    "seq2seq": (seq2seq_begin, lm_step),
    "lm": (lm_begin, lm_step),
}


def follow(kind, a, source, target):
    """p(. | y_<j, x) at each of the T words of a given target, (T,V), and all alpha_j."""
    begin, step = TYPES[kind]
    kept, s = begin(a, source)
    E = target_embedding(a)
    y, probabilities, alphas = np.zeros(E.shape[1]), [], []
    for word in target:
        p, s, alpha = step(a, s, y, kept)
        y = E[word]
        probabilities.append(p)
        alphas.append(alpha)
    return np.array(probabilities), alphas


# -- labels ----------------------------------------------------------------------------------------


def label_logits(a, v):
    """e = v W_o + b_o: (..,C) -> (..,L)."""
    return v @ a["ff_logit_W"] + a["ff_logit_b"]


def pooled(a, h, pooling):
    """One vector v (C,) of annotations h (S,C); attention as Yang et al. (2016)."""
    if pooling == "last":  # the last state of each direction
        half = h.shape[1] // 2
        return np.concatenate([h[-1, :half], h[0, half:]])
    if pooling == "mean":
        return h.mean(axis=0)
    if pooling == "max":
        return h.max(axis=0)
    e = np.tanh(h @ a["pooling_Wc_att"] + a["pooling_b_att"]) @ a["pooling_U_att"]
    return softmax(e[:, 0]) @ h


def classifier(a, ids, pooling):
    """p(y | x) of each label of a text, (L,)."""
    return softmax(label_logits(a, pooled(a, annotations(a, ids), pooling)))


def tagger(a, ids):
    """p(y_t | x) of each tag of each word, (S-1,L): EOS has none."""
    return softmax(label_logits(a, annotations(a, ids)[:-1]))


def crf_score(a, e, tags):
    """The score of the tags of a text under a linear-chain CRF; e (n,L): the tagger's logits."""
    emitted = sum(e[t, y] for t, y in enumerate(tags))
    beside = sum(a["crf_transitions"][pair] for pair in itertools.pairwise(tags))
    return a["crf_start"][tags[0]] + emitted + beside + a["crf_end"][tags[-1]]


def crf(a, e, tags):
    """p(y | x) of the tags of a text, by the sum over all taggings."""
    taggings = itertools.product(range(e.shape[1]), repeat=len(e))
    Z = sum(np.exp(crf_score(a, e, each)) for each in taggings)
    return np.exp(crf_score(a, e, tags)) / Z
