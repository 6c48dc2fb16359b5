"""A conditional GRU of PyTorch modules, and PyTorch's recurrent layer alone, for comparison.

It has the same arrays, products and words as an exported update, attention between the two cells, a
Python loop over the target, and PyTorch's Adam. Its units have the state's bias inside the reset.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from exported import Case
from torch import nn

CLIP_NORM, RATE = 1.0, 0.0001


class ConditionalGRU(nn.Module):
    """Two cells with attention between them, and a bidirectional encoder."""

    def __init__(self, embedding: int, state: int, words: int):
        super().__init__()
        context = 2 * state
        self.source = nn.Embedding(words, embedding)
        self.target = nn.Embedding(words, embedding)
        self.encoder = nn.GRU(embedding, state, batch_first=True, bidirectional=True)
        self.start = nn.Linear(context, state)
        self.first, self.second = nn.GRUCell(embedding, state), nn.GRUCell(context, state)
        self.of_annotation = nn.Linear(context, context)
        self.of_query = nn.Linear(state, context, bias=False)
        self.energy = nn.Linear(context, 1, bias=False)
        self.of_state = nn.Linear(state, embedding)
        self.of_previous = nn.Linear(embedding, embedding)
        self.of_context = nn.Linear(context, embedding)
        self.output = nn.Linear(embedding, words)

    def forward(
        self, source: torch.Tensor, mask: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        """Ids (B,S) and mask (B,S) of the source, ids (B,T) -> logits (B,T,V)."""
        annotations, _ = self.encoder(self.source(source))
        mean = (annotations * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        state = torch.tanh(self.start(mean))
        projected = self.of_annotation(annotations)
        hidden = mask[..., None] == 0
        previous = nn.functional.pad(self.target(target[:, :-1]), (0, 0, 1, 0))
        states, contexts = [], []
        for word in previous.unbind(1):
            between = self.first(word, state)
            energies = self.energy(torch.tanh(projected + self.of_query(between)[:, None]))
            weights = energies.float().masked_fill(hidden, -torch.inf).softmax(1)
            context = (weights.to(annotations.dtype).transpose(1, 2) @ annotations)[:, 0]
            state = self.second(context, between)
            states.append(state)
            contexts.append(context)
        read = self.of_state(torch.stack(states, 1)) + self.of_context(torch.stack(contexts, 1))
        return self.output(torch.tanh(read + self.of_previous(previous)))


class Recurrences(nn.Module):
    """Only PyTorch's recurrent layers: bidirectional over the source, and over the target."""

    def __init__(self, embedding: int, state: int):
        super().__init__()
        self.source = nn.GRU(embedding, state, batch_first=True, bidirectional=True)
        self.target = nn.GRU(embedding, state, batch_first=True)


def rows(case: Case, seconds: float, turns: int) -> list[list[str]]:
    """The rows of the table: the model, the compiled model, and the layers alone."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    embedding, state, words = map(int, case.model.split()[-1].split("/"))
    found = []
    for name, make in (
        ("PyTorch cGRU", lambda: update(case, (embedding, state, words), device)),
        (
            "PyTorch cGRU, torch.compile",
            lambda: update(case, (embedding, state, words), device, compiled=True),
        ),
        ("PyTorch's GRU layer alone", lambda: layers(case, embedding, state, device)),
    ):
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        started = time.perf_counter()
        function = make()
        _timed(function, device)
        compiling = time.perf_counter() - started
        once = min(_timed(function, device) for _ in range(2))
        times = max(1, int(seconds / turns / once))
        taken = statistics.median(_timed(function, device, times) / times for _ in range(turns))
        peak = torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else 0
        found.append(
            [
                f"{name}, {torch.__version__}",
                case.precision,
                f"{case.sentences} x {case.lengths[0]}, {case.lengths[1]}",
                f"{1000 * taken:.3g}",
                f"{case.words / taken:,.0f}",
                "",
                "",
                f"{peak:,.0f}" if peak else "",
                "",
                "",
                f"{compiling:.1f}",
            ]
        )
        del function, make
    return found


def update(
    case: Case, sizes: tuple[int, int, int], device: str, *, compiled: bool = False
) -> Callable[[], torch.Tensor]:
    """An update of the whole model, on a random batch of the case's size."""
    torch.manual_seed(1)
    model = ConditionalGRU(*sizes).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    scaler = torch.amp.GradScaler(device, enabled=case.precision == "float16")
    run = torch.compile(model) if compiled else model
    source, target = (
        torch.randint(sizes[2], (case.sentences, length), device=device) for length in case.lengths
    )
    mask = torch.ones_like(source, dtype=torch.float32)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with _precision(case, device):
            logits = run(source, mask, target)
            cost = nn.functional.cross_entropy(
                logits.float().flatten(0, 1), target.flatten(), reduction="sum"
            )
        scaler.scale(cost / case.sentences).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        scaler.step(optimizer)
        scaler.update()
        return cost

    return step


def layers(case: Case, embedding: int, state: int, device: str) -> Callable[[], torch.Tensor]:
    """Forward and backward through the recurrent layers alone."""
    model = Recurrences(embedding, state).to(device)
    source, target = (
        torch.randn(case.sentences, length, embedding, device=device, requires_grad=True)
        for length in case.lengths
    )

    def step() -> torch.Tensor:
        model.zero_grad(set_to_none=True)
        with _precision(case, device):
            total = model.source(source)[0].sum() + model.target(target)[0].sum()
        total.backward()
        return total

    return step


def _precision(case: Case, device: str) -> torch.autocast:
    kind = getattr(torch, case.precision)
    return torch.autocast(
        device, kind if kind != torch.float32 else torch.bfloat16, enabled=kind != torch.float32
    )


def _timed(function: Callable[[], torch.Tensor], device: str, times: int = 1) -> float:
    started = time.perf_counter()
    for _ in range(times):
        function()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started
