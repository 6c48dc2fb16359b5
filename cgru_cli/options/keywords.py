"""Options as keyword arguments in Python: their types, checks and messages."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from ..errors import WORDING, CgruError, UsageError, note
from ..system.terminal import Progress
from .configured import ConfiguredOptions
from .convert import ConvertOptions
from .flags import statements
from .keyword_types import SearchKeywords, TranslatorKeywords
from .prep import PrepOptions
from .score import ScoreOptions
from .similar_names import similar
from .toolkits import flags_here
from .train import TrainOptions
from .translate import TranslateOptions

Stated = ParamSpec("Stated")
First = TypeVar("First")
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable)
NOT_IN_PYTHON = statements(ConfiguredOptions).keys()


class OfLine(SearchKeywords, total=False):
    """Arguments of `Translator.translate` for one line."""

    prefixes: str | Sequence[str] | None
    constraints: Sequence[str | Sequence[str]] | None
    avoid: Sequence[str]


class OfLines(SearchKeywords, total=False):
    """Arguments of `Translator.translate` for several lines."""

    prefixes: Iterable[str | Sequence[str]] | None
    constraints: Iterable[Sequence[str | Sequence[str]]] | None
    avoid: Sequence[str]
    progress: Progress


def takes(
    _options: Callable[Stated, Any],
) -> Callable[
    [Callable[Concatenate[First, ...], Result]], Callable[Concatenate[First, Stated], Result]
]:
    """Tells type checkers that a function takes all options of a dataclass as keywords."""
    return lambda function: cast(Any, function)


def lists(options: type, names: Collection[str]) -> Callable[[Function], Function]:
    """Appends these options to a function's docstring, with type, default and help, for `help`."""

    wrapped = functools.partial(textwrap.wrap, width=88, break_on_hyphens=False)

    def documented(function: Function) -> Function:
        text = [inspect.cleandoc(function.__doc__ or ""), "", "The options:", ""]
        for field in dataclasses.fields(options):
            flag = field.metadata["flag"]
            if field.name in names and flag.is_shown:
                kind = str(field.type).replace("tuple[str, ...]", "Sequence[str]")
                text.append(f"{field.name}: {kind} = {field.default!r}")
                help = dataclasses.replace(flag, implied=None).description
                text += [f"    {line}" for line in wrapped(_FLAG.sub(_argument, help))]
        function.__doc__ = "\n".join(text)
        return function

    return documented


def checked(options: type, given: Mapping[str, Any], known: Sequence[str]) -> dict:
    """Check keyword arguments, and return them as option values; `known`: the accepted names.

    Accepts paths and lists for options that take text and tuples. Raises UsageError for other
    names, suggesting the name here or a similar one, and for values of the wrong type.
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{name}: no such option{_advice(name, options, known)}")
        stated, default = statements(options)[name]
        listed = isinstance(value, list | tuple)
        if listed and not stated.many:
            raise UsageError(f"{name}: one value is expected, not a {type(value).__name__}")
        several = value if listed else (value,)
        several = [os.fspath(one) if isinstance(one, os.PathLike) else one for one in several]
        if value is not None or default is not None:
            try:
                several = [one.item() if hasattr(one, "dtype") else one for one in several]  # NumPy
                several = [one if one == default else stated.read(one) for one in several]
            except ValueError as error:
                raise UsageError(f"{_ARGUMENTS.get(name, name)}: {error}") from None
        shaped = stated.shaped(tuple(several) if stated.many else several[-1])
        values[name] = None if value is None else shaped
        if stated.no_effect:
            note(f"without effect here: {name} ({stated.no_effect})")
    return values


def _advice(typed: str, options: type, known: Collection[str]) -> str:
    """Advice on an unknown argument, which may be another toolkit's; "" if there is none."""
    flags = flags_here(typed, options)
    fields = [
        field
        for field, (stated, _) in statements(options).items()
        if stated.name in flags or f"--{typed}" in (*stated.flags, *stated.aliases)
    ]
    arguments = [*fields, *(_ARGUMENTS[field] for field in fields if field in _ARGUMENTS), typed]
    if here := [name for name in arguments if name in known]:
        return f"; it is called {' and '.join(here)} here"
    if options is TranslateOptions:
        for argument in arguments:
            if argument in TranslatorKeywords.__annotations__:
                return f"; give {argument} to Translator"
            if argument in ("n_best", *OfLine.__annotations__):
                return f"; give {argument} to Translator.translate"
    near = similar(typed, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


# Python arguments whose names or values differ from the options.
_ARGUMENTS = {
    "force_decode": "prefixes",
    "model": "models",
    "metric": "metrics",
    "n_best_size": "n_best",
}
_FLAG = re.compile(r"cgru [a-z]+ [^);,]*|(?<![\w-])--[a-z][\w-]*")


@contextlib.contextmanager
def in_python() -> Iterator[None]:
    """Make errors, warnings and notes in this block name Python arguments instead of flags."""
    before = WORDING.get()
    WORDING.set(functools.partial(_FLAG.sub, _argument))
    try:
        yield
    except CgruError as error:
        raise type(error)(_FLAG.sub(_argument, str(error))) from error.__cause__
    finally:
        WORDING.set(before)  # not reset: a generator may end in another context


def _argument(found: re.Match[str]) -> str:
    """`beam_size` for `--beam-size`, `no_preprocess=True` for a switch; commands are unchanged."""
    for options in (TranslateOptions, ScoreOptions, PrepOptions, TrainOptions, ConvertOptions):
        for name, (stated, _) in statements(options).items():
            if found[0] in stated.flags:
                switch = stated.is_switch and name not in ("force_decode", "n_best")
                return f"{name}=True" if switch else _ARGUMENTS.get(name, name)
    return found[0]


def iterated(name: str, given: Any) -> Iterator[Any]:
    """The items of an argument. Raises UsageError for text, bytes and non-iterables."""
    if isinstance(given, str | bytes | bytearray) or not isinstance(given, Iterable):
        kind = type(given).__name__
        raise UsageError(f"{name}: a list or an iterator is expected, not {kind}")
    return iter(given)


def one_text(what: str, given: Any) -> str:
    """An argument that is text. Raises UsageError otherwise."""
    if not isinstance(given, str):
        advice = "; decode it first" if isinstance(given, bytes | bytearray) else ""
        raise UsageError(f"{what}: text is expected, not {type(given).__name__}{advice}")
    try:
        given.encode()
    except UnicodeEncodeError as error:
        code = ord(given[error.start])
        raise UsageError(
            f"{what}: U+{code:04X} is half of a surrogate pair, not a character"
        ) from None
    return given


def one_line(what: str, given: Any, several: bool = False) -> str:
    """An argument that is a line (or, with `several`, lines), without the line break at its end.

    Raises UsageError otherwise.
    """
    line = one_text(what, given).removesuffix("\n").removesuffix("\r")
    if "\n" in line and not several:
        raise UsageError(
            f"{what}: a line break within the line; give a list, such as text.splitlines()"
        )
    return line


class Arguments(NamedTuple):
    """The arguments of a Translator or PairScorer, for pickling by path."""

    paths: list[str] | None  # None for models in memory
    vocabularies: tuple[str, ...]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, models: Any, vocabularies: Sequence[str], options: Mapping[str, Any]) -> Arguments:
        """Store the paths, but not models in memory."""
        given = [models] if isinstance(models, str | os.PathLike) else models
        named = isinstance(given, list | tuple) and all(
            isinstance(one, str | os.PathLike) for one in given
        )
        return cls([*map(os.fspath, given)] if named else None, (*vocabularies,), options)

    def reduced(self, kind: type) -> tuple:
        """The result of `__reduce__`. Raises UsageError for models in memory."""
        if self.paths is None:
            raise UsageError(
                "a model in memory cannot be pickled; write it with write_model, and pass its path"
            )
        return functools.partial(kind, **self.options), (self.paths, self.vocabularies)
