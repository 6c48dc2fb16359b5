"""minGRU and minLSTM (Feng et al. 2024, "Were RNNs All We Needed?"), step by step and in parallel.

Their gates do not depend on the state, so that a step is h_t = a_t * h_{t-1} + b_t, where a and b
come from one product of all inputs. Two such steps in a row are one:

    (a, b) then (a', b')  =  (a * a', a' * b + b')

This operation is associative, so all states follow in log2 T passes over (T,D) instead of T steps
over (D,) (Hillis and Steele 1986). As 0 < a < 1, nothing overflows, and no logarithms are needed.

Run this file to measure both on this machine.
"""

import time
import timeit

import numpy as np


def sigma(x):
    return 1 / (1 + np.exp(-x))


def min_gru(x, W):
    """a and b (T,D) for x (T,E) and W (E,2D): z = sigma(x W_z), h' = (1 - z) * h + z * (x W)."""
    z, proposal = np.split(x @ W, 2, axis=-1)
    return 1 - sigma(z), sigma(z) * proposal


def min_lstm(x, W):
    """a and b for W (E,3D): the gates f and i are divided by their sum; h' = f * h + i * (x W)."""
    f, i, proposal = np.split(x @ W, 3, axis=-1)
    f, i = sigma(f), sigma(i)
    return f / (f + i), i / (f + i) * proposal


def step_by_step(a, b):
    """All states (T,D), from h_0 = 0."""
    states, h = np.empty_like(b), np.zeros_like(b[0])
    for t in range(len(b)):
        h = states[t] = a[t] * h + b[t]
    return states


def in_parallel(a, b):
    """The same in passes: after each, a position sums up twice as many steps before it."""
    reach = 1
    while reach < len(b):
        b = np.concatenate([b[:reach], a[reach:] * b[:-reach] + b[reach:]])
        a = np.concatenate([a[:reach], a[reach:] * a[:-reach]])
        reach *= 2
    return b


def gru_products(x, U):
    """The products of a GRU's states, which no scan avoids: T of (B,D) with U (D,3D)."""
    for h in x:
        h @ U


def milliseconds(function, *arguments):
    """CPU milliseconds of a call, the median of seven."""
    runs = timeit.repeat(lambda: function(*arguments), timer=time.process_time, repeat=7, number=1)
    return 1000 * float(np.median(runs))


def main():
    random = np.random.default_rng(1)
    batch, width = 16, 256
    U = random.normal(size=(width, 3 * width)).astype(np.float32)
    print("steps  step by step  parallel scan  products of a GRU's states   (CPU ms)")
    for steps in (10, 50, 250, 1000):
        x = random.normal(size=(steps, batch, width)).astype(np.float32)
        a, b = min_gru(x, U[:, : 2 * width])
        calls = (step_by_step, a, b), (in_parallel, a, b), (gru_products, x, U)
        print("{:5} {:13.2f} {:14.2f} {:27.2f}".format(steps, *(milliseconds(*x) for x in calls)))


if __name__ == "__main__":
    main()
