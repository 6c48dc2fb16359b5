"""The output folder of `cgru prep`: its lock, its finished steps, and its manifest.

During a run, `.prep/state.json` lists the finished steps, and `.prep/out` has the new files. At the
end, these replace the files of an earlier run; `manifest.json` comes last and marks the folder as
complete.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec

from ..errors import CgruError, reading, reason, writing
from ..options.flags import statements
from ..options.prep import PrepOptions
from ..system.atomic_files import all_or_nothing, mark_of, put, remove
from ..system.structured_files import sha256, write_json

VERSION = 1
FILE = "manifest.json"
_WORK = ".prep"
_LOCK = ".prep.lock"
_OUTPUT = re.compile(
    r"(train|dev|test\d*)\.(src|trg)|(dev|test\d*)\.ref|test\d*\.raw"
    r"|vocab(\.src|\.trg|\.factor\d+)?\.(json|spm)|codes(\.src|\.trg)?\.bpe"
    r"|preprocess\.json|manifest\.json"
)
_Output = Annotated[str, msgspec.Meta(pattern=rf"^({_OUTPUT.pattern})\Z")]


# The fields that are read back from both records.
class _Input(TypedDict):
    role: str
    number: int
    path: str
    sha256: str


class _Request(TypedDict):
    options: dict
    inputs: list[_Input]


class _Step(TypedDict):
    files: dict[str, str]
    data: Any
    seconds: float


class _File(TypedDict):
    sha256: str


class _Manifest(TypedDict):
    version: int
    request: _Request
    versions: dict
    outputs: dict[_Output, _File]


class _State(TypedDict):
    request: _Request
    versions: dict
    steps: dict[str, _Step]


class Folder:
    """A folder during a run; see `locked`.

    path: the folder; work: for temporary files of the run; out: for the new output files.
    """

    def __init__(self, path: Path):
        self.path = path
        self.work = path / _WORK
        self.out = self.work / "out"
        self._state: dict[str, Any] = {}

    @classmethod
    @contextlib.contextmanager
    def locked(cls, path: str | os.PathLike[str]) -> Iterator[Folder]:
        """The folder, created if needed, and locked against other processes.

        Raises CgruError if it cannot be made or written, or another process has locked it.
        """
        from filelock import FileLock, Timeout

        folder = cls(Path(path))
        with writing(path):
            folder.path.mkdir(parents=True, exist_ok=True)
            try:
                lock = FileLock(folder.path / _LOCK).acquire(timeout=0)
            except Timeout as error:
                raise CgruError(f"{path}: another cgru prep is running there") from error
            except NotImplementedError as error:  # no locks on this file system
                raise OSError(str(error)) from error
        with lock:
            try:
                yield folder
            except BaseException:
                folder._leave_nothing()
                raise

    def begin(
        self, wanted: Mapping[str, Any], versions: Mapping[str, str], force: bool
    ) -> Literal["complete", "resumed", "new"]:
        """Prepare a run for a request; returns whether it is complete already, resumed or new.

        force: start over, whatever the folder holds. Without force, raises CgruError, naming the
        difference, if the folder holds something else.
        """
        manifest = None if force else _record(self.path / FILE, _Manifest)
        if manifest and self._is_complete(manifest, wanted):
            with writing(self.path):
                mark_of(self.path / FILE).unlink(missing_ok=True)  # nothing is missing
                self._remove_work()
                self._remove_temporary()
            return "complete"
        state: Any = None if force else _record(self.work / "state.json", _State)
        if state and not state["steps"]:  # nothing to resume from
            state = None
        resumed = (
            state and state["versions"] == versions and not difference(state["request"], wanted)
        )
        if not resumed and not force:
            self._check_replaceable(wanted, manifest or state)
        with writing(self.path):
            if resumed:
                self._state = state
            else:
                self._remove_work()
                self.work.mkdir()
                self._state = {"request": wanted, "versions": versions, "steps": {}}
                self._save()
            self.out.mkdir(exist_ok=True)
            self._remove_temporary()
        return "resumed" if resumed else "new"

    def _is_complete(self, manifest: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
        """Whether the folder fulfils the request. Raises CgruError for a changed output file."""
        if difference(manifest["request"], wanted):
            return False
        complete = True
        for name, output in manifest["outputs"].items():
            path = self.path / name
            if not path.exists():
                complete = False
            elif not _holds(path, output["sha256"]):
                raise CgruError(
                    f"{path}: was changed since cgru prep wrote it; --force to make it again"
                )
        return complete

    def _check_replaceable(self, wanted: Mapping[str, Any], record: Any) -> None:
        """Raise CgruError if the folder holds the result of another program or other options."""
        if record is None:
            for name in self._outputs():
                raise CgruError(
                    f"{self.path / name}: exists, and no complete run of cgru prep wrote it; name "
                    "another folder, or --force to overwrite"
                )
        elif changed := difference(record["request"], wanted):
            raise CgruError(
                f"{self.path}: made with other options or text: {changed}; name another folder, or "
                "--force to make it again"
            )

    def step(self, name: str, make: Callable[[], Any], files: list[str]) -> Any:
        """The result of `make`, called now or by the interrupted run for the same step.

        files: written by `make`, relative to `out`, or to the folder if they begin with `.prep`. A
        step whose files have changed runs again, and so does every later step.
        """
        steps = self._state["steps"]
        if done := steps.get(name):
            hashes = done["files"]
            unchanged = all(_holds(self._made(file), digest) for file, digest in hashes.items())
            if set(hashes) == set(files) and unchanged:
                return done["data"]
            names = list(steps)
            for later in names[names.index(name) :]:
                del steps[later]
        started = time.monotonic()
        try:
            data = make()
        except OSError as error:  # for temporary files; other files raise CgruError
            place = error.filename or self.path
            raise CgruError(f"{place}: cannot be written: {reason(error)}") from error
        seconds = round(time.monotonic() - started, 3)
        hashes = {file: sha256(self._made(file)) for file in files}
        steps[name] = {"files": hashes, "data": data, "seconds": seconds}
        self._save()
        return data

    def finish(self, lines: Mapping[str, int], more: Mapping[str, Any]) -> None:
        """Replace the files of the folder with the new files, the manifest last.

        lines: the number of lines of each text among the outputs; more: further fields of the
        manifest.
        """
        outputs = {}
        steps = self._state["steps"]
        for step in steps.values():
            for name, digest in step["files"].items():
                if _OUTPUT.fullmatch(name):
                    outputs[name] = {"sha256": digest, "bytes": self._made(name).stat().st_size}
                    if name in lines:
                        outputs[name]["lines"] = lines[name]
        manifest = {
            "version": VERSION,
            "request": self._state["request"],
            "versions": self._state["versions"],
            **more,
            "outputs": outputs,
            "seconds": {name: step["seconds"] for name, step in steps.items()},
        }
        write_json(self.out / FILE, manifest)
        with writing(self.path), all_or_nothing(self.path / FILE):
            for name in self._outputs():
                if name not in outputs and name != FILE:
                    remove(self.path / name)
            for name in (*outputs, FILE):
                if (self.out / name).exists():
                    put(self.out / name, self.path / name)
        self._remove_work()

    def _leave_nothing(self) -> None:
        """After a failure, remove the folder if there is nothing to resume from."""
        with contextlib.suppress(OSError):
            if self._state and not self._state["steps"]:
                shutil.rmtree(self.work, ignore_errors=True)
            if {path.name for path in self.path.iterdir()} <= {_LOCK}:
                (self.path / _LOCK).unlink()
                self.path.rmdir()

    def _outputs(self) -> list[str]:
        return sorted(p.name for p in self.path.iterdir() if _OUTPUT.fullmatch(p.name))

    def _save(self) -> None:
        write_json(self.work / "state.json", self._state)

    def _made(self, name: str) -> Path:
        """The path of a step's file: in `out`, or in the folder if a run was killed at the end."""
        waiting = self.out / name
        return waiting if waiting.exists() else self.path / name

    def _remove_work(self) -> None:
        if self.work.exists():
            shutil.rmtree(self.work)

    def _remove_temporary(self) -> None:
        """Remove the backups of outputs that `all_or_nothing` leaves after a kill."""
        for path in self.path.iterdir():
            name = re.fullmatch(r"\.(.+)\.[0-9a-f]{12}\.tmp", path.name)
            if name and _OUTPUT.fullmatch(name[1]):
                path.unlink()


def _holds(path: Path, digest: str) -> bool:
    return path.is_file() and sha256(path) == digest


def _record(path: Path, kind: Any) -> Any:
    """A manifest or state; None if there is none. Raises CgruError if it is damaged."""
    if not path.exists():
        return None
    with reading(path):
        content = path.read_bytes()
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise CgruError(f"{path}: damaged; --force to make the folder again") from error


def writes(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> bool:
    """Whether a run in this folder may write or remove `path`."""
    place = Path(os.path.realpath(path))
    return place.parent == Path(os.path.realpath(folder)) and bool(_OUTPUT.fullmatch(place.name))


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The differences between an old and a new request, in words; "" without differences.

    An option that a request of another version of cgru lacks has its default.
    """
    parts = []
    defaults = {name: default for name, (_, default) in statements(PrepOptions).items()}
    for name in sorted({*old["options"], *new["options"]}):
        before, now = (of["options"].get(name, defaults.get(name)) for of in (old, new))
        if before != now:
            parts.append(f"--{name.replace('_', '-')} was {_shown(before)}, is {_shown(now)}")
    files = [{(entry["role"], entry["number"]): entry for entry in r["inputs"]} for r in (old, new)]
    for role, number in sorted({*files[0], *files[1]}):
        before, now = (of.get((role, number)) for of in files)
        entry = now or before or {}
        text = f"--{role} file {number} ({entry['path']})"
        if not now:
            parts.append(f"{text} is missing now")
        elif not before:
            parts.append(f"{text} is new")
        elif before["sha256"] != now["sha256"]:
            parts.append(f"{text} has other content")
    return "; ".join(parts)


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "set" if value else "not set"
    return str(value)
