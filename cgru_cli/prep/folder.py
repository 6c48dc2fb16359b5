"""The folder that `cgru prep` writes: its lock, which steps are done, and its manifest.

While a run is under way `.prep/state.json` says which steps are done, and what is made waits in
`.prep/out`; then all of it takes the place of what was there before, last `manifest.json`, which
says that the folder is whole.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import CgruError, reading, reason, writing
from ..system.atomic_files import all_or_nothing, mark_of, put, remove
from ..system.structured_files import LARGEST, parse_json, write_json
from .raw_text import sha256

VERSION = 1
FILE = "manifest.json"
_WORK = ".prep"
_LOCK = ".prep.lock"
_OUTPUT = re.compile(
    r"(train|dev|test\d*)\.(src|trg)|(dev|test\d*)\.ref|test\d*\.raw"
    r"|vocab(\.src|\.trg|\.factor\d+)?\.(json|spm)|codes(\.src|\.trg)?\.bpe"
    r"|preprocess\.json|manifest\.json"
)


class Folder:
    """A folder while it is made; see `locked`.

    path: the folder; work: what a run needs until it ends; out: where it writes what is to stay.
    """

    def __init__(self, path: Path):
        self.path = path
        self.work = path / _WORK
        self.out = self.work / "out"
        self._state: dict[str, Any] = {}

    @classmethod
    @contextlib.contextmanager
    def locked(cls, path: str | os.PathLike[str]) -> Iterator[Folder]:
        """The folder, made if need be and locked against other processes.

        Raises CgruError where it cannot be made or written, or another process is in it.
        """
        from filelock import FileLock, Timeout

        folder = Path(path)
        lock = FileLock(folder / _LOCK)
        with writing(path):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(timeout=0)
            except Timeout as error:
                raise CgruError(f"{path}: another cgru prep is at work there") from error
            except NotImplementedError as error:  # no locks on this file system
                raise OSError(str(error)) from error
        place = cls(folder)
        try:
            yield place
        except BaseException:
            place._leave_nothing()
            raise
        finally:
            lock.release()

    def is_complete(self, wanted: Mapping[str, Any]) -> bool:
        """Whether the folder holds all that is wanted, unchanged since the manifest was written."""
        manifest = self._recorded(self.path / FILE)
        if manifest is None or difference(manifest["request"], wanted):
            return False
        if not all(
            _holds(self.path / name, entry["sha256"]) for name, entry in manifest["outputs"].items()
        ):
            return False
        with writing(self.path):
            mark_of(self.path / FILE).unlink(missing_ok=True)  # all is as the manifest says
            self._remove_work()
            self._remove_temporary()
        return True

    def begin(self, wanted: Mapping[str, Any], versions: Mapping[str, str], force: bool) -> bool:
        """Prepare to make what is wanted; returns whether an interrupted run resumes.

        Raises CgruError, the difference named, where the folder holds something else.
        """
        manifest = self._recorded(self.path / FILE, force)
        state = self._recorded(self.work / "state.json", force)
        if state and not state["steps"] and difference(state["request"], wanted):
            state = None  # nothing to go on with, so it may be anything else too
        goes_on = (
            state is not None
            and not force
            and bool(state["steps"])
            and state["versions"] == versions
            and not difference(state["request"], wanted)
        )
        record = state if goes_on else manifest or state
        if record is None:
            foreign = self._outputs()
            if foreign and not force:
                raise CgruError(
                    f"{self.path / foreign[0]}: is there already, and not by a whole run of cgru "
                    "prep; name another folder, or --force to overwrite"
                )
        elif not force and (changed := difference(record["request"], wanted)):
            raise CgruError(
                f"{self.path}: made with other options or text: {changed}; name another folder, or "
                "--force to make it anew"
            )
        elif manifest and not force and not difference(manifest["request"], wanted):
            for name, entry in manifest["outputs"].items():
                if (self.path / name).exists() and not _holds(self.path / name, entry["sha256"]):
                    raise CgruError(
                        f"{self.path / name}: was changed since cgru prep wrote it; --force to "
                        "make it again"
                    )
        with writing(self.path):
            if goes_on and state is not None:
                self._state = state
            else:
                self._remove_work()
                self.work.mkdir()
                self._state = {"request": wanted, "versions": versions, "steps": {}}
                self._save()
            self.out.mkdir(exist_ok=True)
            self._remove_temporary()
        return goes_on

    def step(self, name: str, make: Callable[[], dict[str, Any]], files: list[str]) -> dict:
        """The result of `make`, called now or, for this step, by the interrupted run.

        files: those it writes, relative to `out`, or to the folder where they begin with `.prep`.
        A step whose files are no longer as they were written is done again, and so is every step
        after it.
        """
        steps = self._state["steps"]
        done = steps.get(name)
        if (
            done
            and set(done["files"]) == set(files)
            and all(_holds(self._made(file), digest) for file, digest in done["files"].items())
        ):
            return done["data"]
        names = list(steps)
        for later in names[names.index(name) :] if name in names else []:
            del steps[later]
        started = time.monotonic()
        try:
            data = make()
        except OSError as error:  # of working files; those that stay have their own message
            place = error.filename or self.path
            raise CgruError(f"{place}: cannot be written: {reason(error)}") from error
        seconds = round(time.monotonic() - started, 3)
        hashes = {file: sha256(self._made(file)) for file in files}
        steps[name] = {"files": hashes, "data": data, "seconds": seconds}
        self._save()
        return data

    def finish(self, lines: Mapping[str, int], more: Mapping[str, Any]) -> None:
        """Replace the files of the folder by those that were made, the manifest last.

        lines: of each text among the outputs.
        """
        outputs = {}
        for step in self._state["steps"].values():
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
            "seconds": {name: step["seconds"] for name, step in self._state["steps"].items()},
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
        """After a failure, remove the folder if it holds nothing to resume from."""
        with contextlib.suppress(OSError):
            if self._state and not self._state["steps"]:
                shutil.rmtree(self.work, ignore_errors=True)
            if {path.name for path in self.path.iterdir()} <= {_LOCK}:
                (self.path / _LOCK).unlink()
                self.path.rmdir()

    def _outputs(self) -> list[str]:
        """Names of a run's lasting files that are in the folder."""
        return sorted(p.name for p in self.path.iterdir() if _OUTPUT.fullmatch(p.name))

    def _save(self) -> None:
        write_json(self.work / "state.json", self._state)

    def _made(self, name: str) -> Path:
        """Where a file of a step is: still in `out`, or in the folder since a run that was killed
        as it ended.
        """
        waiting = self.out / name
        return waiting if waiting.exists() else self.path / name

    def _recorded(self, path: Path, force: bool = False) -> dict[str, Any] | None:
        if not path.exists():
            return None
        with reading(path):
            content = path.read_bytes()
        try:
            values = parse_json(content, str(path), LARGEST)
        except CgruError:
            values = None
        if _is_whole(values, path.name == FILE):
            return values
        if force:
            return None
        raise CgruError(f"{path}: damaged; --force to make the folder anew")

    def _remove_work(self) -> None:
        if self.work.exists():
            shutil.rmtree(self.work)

    def _remove_temporary(self) -> None:
        """Remove the files that `atomic_write` leaves when a process is killed."""
        for folder in (self.path, self.work, self.out):
            for path in folder.iterdir() if folder.exists() else ():
                name = re.fullmatch(r"\.(.+)\.[0-9a-f]{12}\.tmp", path.name)
                if name and (folder != self.path or _OUTPUT.fullmatch(name[1])):
                    path.unlink()


def _holds(path: Path, digest: str) -> bool:
    return path.is_file() and sha256(path) == digest


def _is_whole(record: Any, is_manifest: bool) -> bool:
    """Whether a manifest or a state has all fields that are read, of the right types."""
    try:
        request = record["request"]
        mappings = [request["options"], record["versions"]]
        texts = [entry[key] for entry in request["inputs"] for key in ("role", "path", "sha256")]
        numbers = [entry["number"] for entry in request["inputs"]]
        if is_manifest:
            numbers.append(record["version"])
            names = list(record["outputs"])
            texts += [entry["sha256"] for entry in record["outputs"].values()]
        else:
            names = []
            for step in record["steps"].values():
                texts += step["files"].values()
                mappings.append(step["data"])
                numbers.append(step["seconds"])
    except (KeyError, TypeError, AttributeError):
        return False
    return (
        all(isinstance(mapping, dict) for mapping in mappings)
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(number, (int, float)) for number in numbers)
        and all(_OUTPUT.fullmatch(name) for name in names)
    )


def writes(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> bool:
    """Whether a run in this folder may write or remove `path`."""
    place = Path(os.path.realpath(path))
    return place.parent == Path(os.path.realpath(folder)) and bool(_OUTPUT.fullmatch(place.name))


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The differences of a request from an older one, in words; "" if there are none."""
    parts = []
    for name in sorted({*old["options"], *new["options"]}):
        before, now = old["options"].get(name), new["options"].get(name)
        if before != now:
            parts.append(f"--{name.replace('_', '-')} was {_shown(before)}, is {_shown(now)}")
    before, now = (
        {(e["role"], e["number"]): (e["sha256"], e["path"]) for e in r["inputs"]}
        for r in (old, new)
    )
    for key in sorted({*before, *now}):
        role = f"--{key[0]} file {key[1]}"
        if key not in now:
            parts.append(f"{role} ({before[key][1]}) is not given any more")
        elif key not in before:
            parts.append(f"{role} ({now[key][1]}) is new")
        elif before[key][0] != now[key][0]:
            parts.append(f"{role} ({now[key][1]}) has other content")
    return "; ".join(parts)


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "set" if value else "not set"
    return str(value)
