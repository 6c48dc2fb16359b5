"""The service behind all protocols: passes lines to the engine and awaits their outcomes."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from .. import Hypothesis, Translation
from ..errors import CgruError, PhraseError
from ..options.serve import ServeOptions
from ..system.side_by_side import processors
from ..system.terminal import tell
from .clients import Client
from .detection import detected, detects
from .engine import Engine
from .metrics import Metrics
from .problems import Refusal
from .served_model import SearchOptions, ServedModel
from .work import Kind, Line, Outcome, Pair


class Service:
    """The models, the engine that computes, and the state of the server."""

    def __init__(self, models: Mapping[str, ServedModel], options: ServeOptions):
        """models: by name; the first model is the default."""
        self.models, self.options = dict(models), options
        self.metrics = Metrics()
        on_gpu = any(model.defaults.on_gpu for model in models.values())
        self.engine = Engine(
            self.metrics,
            queue=options.queue,
            batch_wait=options.batch_wait / 1000,
            threads=options.cpu_threads or (1 if on_gpu else processors()),
        )
        self.ready = False  # whether all models have translated a line
        self.draining = False  # whether the server is about to stop, and refuses new requests
        self.active = 0  # admitted requests without an answer
        self.metrics.watch(lambda: self.engine.queued, lambda: self.active)

    def start(self) -> None:
        """Start the engine; the service is ready when every model has translated a line."""
        self.engine.start()
        if self.detects:  # so that no request waits for its data
            threading.Thread(target=detected, args=("", self.sources), daemon=True).start()
        left = set(self.models)

        for name, model in self.models.items():

            def done(_number: int, _outcome: Outcome, name: str = name) -> None:
                left.discard(name)
                if not left:
                    self.ready = True

            text = "a" if model.reads_source else ""
            self.engine.submit("", self.searching(model, SearchOptions()), [Line(text)], done)

    @contextlib.contextmanager
    def active_request(self) -> Iterator[None]:
        """Count a request as active inside the block; a stopping server waits for it."""
        self.active += 1
        try:
            yield
        finally:
            self.active -= 1

    def log(self, client: str, path: str | None, method: str, status: int, seconds: float) -> None:
        """Count and log a request, without its texts; path: None if unknown."""
        self.metrics.answered(path or "other", method if path else "", status, seconds)
        if not self.options.quiet:
            shown = path or "(no such path)"
            tell(f"{client or '-'} {method} {shown} {status} {seconds:.3f} s")

    @property
    def sources(self) -> list[str]:
        """The source languages that the models state."""
        stated = (model.languages for model in self.models.values())
        return [*dict.fromkeys(pair[0] for pair in stated if pair)]

    @property
    def detects(self) -> bool:
        """Whether the service can detect which source language a text has."""
        return len(self.sources) > 1 and detects()

    def model(self, name: str | None = None) -> ServedModel:
        """A model by name, or the default. Raises Refusal for an unknown name."""
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            known = ", ".join(self.models)
            raise Refusal("not_found", f"no model {name!r}; the models are: {known}", field="model")
        return self.models[name]

    def searching(self, model: ServedModel, search: SearchOptions, *, forced: bool = False) -> Kind:
        """The kind of a request's search. Raises Refusal if it exceeds the limits."""
        asked = {"mbr": None, **search.keywords}
        for name in ("beam_size", "n_best", "mbr"):
            self.check_size(model, name, asked[name])
        try:
            return Kind(model, model.settings(search), forced)
        except CgruError as error:
            first = str(error).partition(" ")[0]  # the option at fault
            field = first.rstrip(":") if first.rstrip(":") in asked else ""
            raise Refusal("not_possible", model.public(error), field=field) from None

    def most(self, model: ServedModel) -> int:
        """The largest beam size and number of translations that a request may ask for."""
        return max(self.options.max_beam_size, model.defaults.beam_size)

    def check_size(self, model: ServedModel, name: str, size: int | None) -> None:
        """Raise Refusal if the field `name` exceeds `most`."""
        most = self.most(model)
        if size is not None and not 1 <= size <= most:
            message = f"{name} {size}: this server allows 1 to {most}"
            raise Refusal("not_possible", message, field=name)

    def check(self, lines: Sequence[Line | Pair]) -> None:
        """Raise Refusal for too many lines, or a line that is too long or has a line break.

        All phrases of a line together may be as long as a line.
        """
        most, longest = self.options.most_lines, self.options.max_characters
        if len(lines) > most:
            message = f"{len(lines)} lines: this server takes {most} at a time"
            field = lines[0].field(0).partition("[")[0]
            raise Refusal("too_large", message, field=field)
        for number, line in enumerate(lines):
            for place, text in enumerate(line.texts):
                if len(text) > longest:
                    size = f"{len(text)} characters; this server takes {longest} per line"
                    raise Refusal.of(line, number, "too_large", size, place)
                if "\n" in text:
                    problem = "a line break; send each line as a text"
                    raise Refusal.of(line, number, "invalid_field", problem, place)
            phrases = sum(map(len, line.texts[2:]))
            if phrases > longest:
                size = f"{phrases} characters in phrases; this server takes {longest}"
                raise Refusal.of(line, number, "too_large", size, 2)

    async def outcomes(
        self,
        client: Client,
        kind: Kind,
        lines: Sequence[Line | Pair],
        *,
        in_order: bool = False,
    ) -> AsyncGenerator[tuple[int, Translation | Hypothesis], None]:
        """Yield the number and outcome of each line when it is ready.

        Closing the generator cancels the other lines. Raises Refusal like `check`, if the queue is
        full, or if a line fails.
        """
        self.check(lines)
        if self.options.log_texts:
            tell(json.dumps([line.texts for line in lines], ensure_ascii=False))
        loop = asyncio.get_running_loop()
        ready: asyncio.Queue[tuple[int, Outcome]] = asyncio.Queue()

        def deliver(number: int, outcome: Outcome) -> None:  # in a thread of the engine
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(ready.put_nowait, (number, outcome))

        ticket = self.engine.submit(client.address, kind, lines, deliver, in_order=in_order)
        try:
            for _ in lines:
                number, outcome = await ready.get()
                if isinstance(outcome, Refusal):
                    raise outcome
                if isinstance(outcome, CgruError):
                    field = lines[number].field(number, 2 * isinstance(outcome, PhraseError))
                    raise Refusal("unreadable", kind.model.public(outcome), field=field)
                yield number, outcome
        finally:
            self.engine.cancel(ticket)

    async def all(self, client: Client, kind: Kind, lines: Sequence[Line | Pair]) -> list[Any]:
        """The outcomes of all lines in order. Raises Refusal like `outcomes`."""
        every = self.outcomes(client, kind, lines)
        async with contextlib.aclosing(every) as outcomes:
            done = {number: outcome async for number, outcome in outcomes}
        return [done[number] for number in range(len(lines))]
