"""Small trainings: learnable text, prepared folders, and the command."""

import contextlib
import dataclasses
import json
import os
import random
import socket
import subprocess
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import prepared as server
from click.testing import CliRunner

from cgru_cli.cli import main
from cgru_cli.parameters.program import PROGRAMS

WORDS = [f"w{i}" for i in range(12)]
SIZES = tuple("--defaults fixed --dim-emb 6 --dim-rnn 8 --mini-batch 8 --maxi-batch 4".split())
# Models that are traced faster than the conditional GRU, for tests that hold for any model.
PLAIN = (*SIZES, "--type", "seq2seq", "--cell", "tanh", "--enc-type", "unidirectional")
ATTENTIVE = (*SIZES, "--type", "rnnsearch", "--cell", "tanh", "--enc-type", "unidirectional")
# Options with which a training run keeps a lot of state.
EVERYTHING = (
    "--after", "14u", "-l", 0.01, "--dropout-hidden", 0.2, "--dropout-source", 0.1,
    "--dropout-embedding", 0.1, "--label-smoothing", 0.1, "--exponential-smoothing", 0.05,
    "--lr-warmup", "4u", "--lr-decay", 0.5, "--lr-decay-inv-sqrt", "6u", "--optimizer-delay", 2,
    "--decay-c", 1e-4, "--valid-freq", "2u", "--valid-metrics", "cross-entropy", "perplexity",
    "--early-stopping", 50, "--save-freq", "3u", "--keep", 2, "--disp-freq", "2u",
)  # fmt: skip


# The limit of translations in validation: new models end few of theirs before 200 words.
BRIEF = dataclasses.replace(PROGRAMS["nematus"], limit=lambda _: 40)


class Result(NamedTuple):
    """The result of a command."""

    code: int
    output: str
    messages: str

    @property
    def error(self) -> str:
        """The line of an error; there must be no others except warnings and log lines."""
        lines = [
            line
            for line in self.messages.splitlines()
            if not line.startswith(("[", "cgru: warning: "))
        ]
        assert len([line for line in lines if line]) == 1, self.messages
        return lines[-1]


def prepared(folder: Path, pairs: int = 60, dev: int = 6) -> Path:
    """A prepared folder in which each target is its source backwards."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(5)
    for name, count in (("train", pairs), ("dev", dev)):
        text = [draw.choices(WORDS, k=draw.randint(1, 6)) for _ in range(count)]
        lines(folder / f"{name}.src", [" ".join(words) for words in text])
        lines(folder / f"{name}.trg", [" ".join(words[::-1]).upper() for words in text])
    vocabulary(folder / "vocab.src.json", WORDS)
    vocabulary(folder / "vocab.trg.json", [word.upper() for word in WORDS])
    (folder / "manifest.json").write_text("{}")
    return folder


def lines(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def vocabulary(path: Path, words: list[str]) -> Path:
    path.write_text(json.dumps({word: i for i, word in enumerate(["eos", "UNK", *words])}))
    return path


def train(*arguments: object) -> Result:
    """Run `cgru train` in this process, which traces equal steps once and validates briefly."""
    from traced_once import traced_once

    with traced_once(), patch.dict(PROGRAMS, nematus=BRIEF):
        result = CliRunner().invoke(main, ["train", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Result(result.exit_code, result.stdout, result.stderr)


def trained(*arguments: object) -> Result:
    """The same, for commands that must succeed."""
    result = train(*arguments)
    assert result.code == 0, result.messages
    return result


def process(*arguments: object, **more: object) -> subprocess.Popen:
    """Run `cgru train` in a separate process."""
    command = server.command("train", *arguments)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    more = {"env": os.environ | {"OMP_NUM_THREADS": "1"}} | more
    return subprocess.Popen(command, **(pipes | more))


def workers(count: int, *arguments: object, only: dict[int, list] | None = None) -> list:
    """Run several processes of `cgru train` that train together; only: options of one of them."""
    with contextlib.ExitStack() as stack:  # find free ports
        servers = [stack.enter_context(socket.create_server(("", 0))) for _ in range(count)]
        addresses = [f"localhost:{server.getsockname()[1]}" for server in servers]
    started = []
    for index in range(count):
        task = {"type": "worker", "index": index}
        config = json.dumps({"cluster": {"worker": addresses}, "task": task})
        environment = os.environ | {"OMP_NUM_THREADS": "1", "TF_CONFIG": config}
        more = (only or {}).get(index, [])
        started.append(process(*arguments, *more, "--cpu-threads", "1", env=environment))
    return started


def arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def records(model: Path, kind: str = "") -> list[dict]:
    """The records of one type in the metrics file."""
    text = Path(f"{model}.metrics.jsonl").read_text()
    entries = [json.loads(line) for line in text.splitlines()]
    return [entry for entry in entries if kind in ("", entry["type"])]


def comparable(folder: Path) -> tuple:
    """The files of a training run of `m.npz` without their times, for comparison."""
    state = arrays(folder / "m.npz.state.npz")
    values = json.loads(state.pop("json").tobytes())
    for name in ("progress", "checked", "interval"):
        values[name].pop("seconds")
    for name in ("validating", "valid_from", "looked_at"):  # a first look follows the clock
        values.pop(name)
    timed = ("seconds", "total_seconds", "words_per_second", "waited", "of")
    entries = [
        {name: value for name, value in entry.items() if name not in timed}
        for entry in records(folder / "m.npz")
        if entry["type"] not in ("data", "look")
    ]
    models = {path.name: path.read_bytes() for path in folder.glob("m.npz*") if path.is_file()}
    for name in ("state.npz", "log", "metrics.jsonl", "lock"):
        models.pop(f"m.npz.{name}", None)
    return models, {name: array.tobytes() for name, array in state.items()}, values, entries
