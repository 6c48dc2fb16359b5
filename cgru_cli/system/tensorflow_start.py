"""TensorFlow started quietly, on the device and with the threads that are asked for."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from typing import NamedTuple

from ..errors import CgruError, UsageError
from .garbage import collected_by_hand
from .signals import imports_elsewhere

LEAST_ADDRESSES = 2400 << 20  # bytes of addresses, most of them never used as memory

# Keras imports these where they are installed, for pictures, filters and notebooks: half a second
# of every start, for nothing that is used here.
UNUSED = ("matplotlib", "scipy", "IPython")
# 0.14 of the 2.4 s of processor time that a command takes to start, for what is seldom asked for.
SELDOM_USED = (
    "tensorflow._api.v2.compat", "tensorflow._api.v2.lite",
    "tensorflow._api.v2.__internal__.feature_column",
)  # fmt: skip


def import_tensorflow() -> None:
    """Import TensorFlow in a program that is not cgru, as a notebook: quietly, and nothing else of
    the program is changed.

    Raises CgruError where TensorFlow cannot be loaded, or Keras runs on another backend.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    if "keras" not in sys.modules:
        os.environ["KERAS_BACKEND"] = "tensorflow"
    if "tensorflow" not in sys.modules:
        _keep_freed_memory()
    try:
        with silent_descriptor():
            import keras
            import tensorflow  # noqa: F401
    except ImportError as error:
        raise CgruError(f"TensorFlow cannot be loaded: {error}") from None
    if keras.config.backend() != "tensorflow":
        raise CgruError(
            f"Keras runs on {keras.config.backend()} here; cgru needs it on TensorFlow: set "
            "KERAS_BACKEND=tensorflow before Keras is imported"
        )


class Start:
    """TensorFlow imported in the background, while the model's files are read.

    `finish` waits for it and sets it up; nothing else may touch TensorFlow before.
    """

    def __init__(self, compilation_cache: bool = False, *, own_process: bool = True) -> None:
        """compilation_cache: keep what XLA compiles for the processes that follow. own_process:
        whether this is a command; else it is a part of somebody's program, which stays as it is.
        """
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        if not own_process:
            import_tensorflow()
            return
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        if compilation_cache:
            _keep_compiled()
        # TensorFlow leaves oneDNN off on processors without AVX-512, where it is faster too
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
        _keep_freed_memory()
        os.environ["KERAS_BACKEND"] = "tensorflow"
        _part_stderr()  # here, before this thread can write while the other redirects
        self._thread = threading.Thread(target=self._import, daemon=True)
        self._thread.start()

    def _import(self) -> None:
        try:
            with imports_elsewhere(), silent_descriptor(), imported_in_part():
                _check_addresses()
                import tensorflow  # noqa: F401
        except BaseException as error:  # raised where it is waited for
            self._error = error

    def finish(
        self,
        device: str | None,
        threads: int | None,
        devices: Sequence[str] = (),
        *,
        training: bool = False,
        long_running: bool = False,
    ) -> None:
        """Wait for the import, then choose the device (cpu, gpu, gpu:N) and number of threads.

        devices: several in its place, gpu:N or N, or cpu:0, cpu:1, ... that share the processors.
        training: operations that do not wait for each other run side by side, as the gradients of
        an update do; those of a search are a chain, and only pay for it. long_running: one thread
        begins operations, as each of those that do keeps oneDNN's programs, one for each shape.
        Raises CgruError where TensorFlow cannot be loaded, a device is not there, or a program has
        computed with TensorFlow before, so that neither can be chosen any more.
        """
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise CgruError(f"TensorFlow cannot be loaded: {self._error}") from None
        import tensorflow as tf

        with silent_descriptor():
            try:
                _choose(tf, device, devices)
                if threads is not None:
                    if threads < 1:
                        raise UsageError(f"--cpu-threads {threads}: at least one is needed")
                    tf.config.threading.set_intra_op_parallelism_threads(threads)
                if threads is not None or long_running:
                    beginning = threads if threads and training else 1
                    tf.config.threading.set_inter_op_parallelism_threads(beginning)
            except RuntimeError:  # of TensorFlow: too late
                raise CgruError(
                    "device and threads are chosen before TensorFlow computes for the first time"
                ) from None


@contextlib.contextmanager
def imported_in_part() -> Iterator[None]:
    """What this thread imports here of TensorFlow is without what cgru never uses."""
    with _leaving_out(hidden=UNUSED, deferred=SELDOM_USED), _uncollected():
        yield


def _check_addresses() -> None:
    """Raise MemoryError where TensorFlow would end the process for want of addresses."""
    try:
        import resource
    except ImportError:  # of Unix alone
        return
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed != resource.RLIM_INFINITY and allowed < LEAST_ADDRESSES:
        raise MemoryError(
            f"`ulimit -v` allows {allowed >> 20} MiB; it needs {LEAST_ADDRESSES >> 20} MiB and the "
            "size of the model"
        )


@contextlib.contextmanager
def _leaving_out(hidden: Sequence[str], deferred: Sequence[str]) -> Iterator[None]:
    """Restrict this thread's imports: packages that it does not find, whether installed or not,
    and modules that are loaded when something of theirs is asked for.
    """
    finder = _Sparing(frozenset(hidden), frozenset(deferred), threading.get_ident())
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Sparing(NamedTuple):
    hidden: frozenset[str]
    deferred: frozenset[str]
    thread: int

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder`: what is found, nothing, or the search ended."""
        if threading.get_ident() != self.thread:
            return None
        if name in self.hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name not in self.deferred:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Objects made here are not looked through for garbage, now or later: half a second of an
    import that makes a third of a million and drops few.
    """
    with collected_by_hand():
        try:
            yield
        finally:
            gc.freeze()


def _keep_compiled() -> None:
    """Name XLA's persistent cache, in the user's cache folder, where none is named."""
    flags = os.environ.get("TF_XLA_FLAGS", "")
    if "persistent_cache" in flags:
        return
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(home, "cgru", "xla")
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)  # TensorFlow does not make it
        _remove_cut_short(folder)
        os.environ["TF_XLA_FLAGS"] = f"{flags} --tf_xla_persistent_cache_directory={folder}"


def _remove_cut_short(folder: str) -> None:
    """Remove what a full disk or a crash left half written: XLA would fail on it each time anew."""
    for entry in os.scandir(folder):
        if entry.is_file() and not _is_whole_message(entry.path):
            os.unlink(entry.path)


def _is_whole_message(path: str) -> bool:
    """Whether a file is a Protocol Buffers message up to its end, by the lengths of its fields."""

    def number() -> int:
        """A number of seven bits a byte, the lowest first."""
        value = shift = 0
        while True:
            (byte,) = file.read(1)  # ValueError at the end
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128 or shift > 63:
                return value

    size = os.path.getsize(path)
    with open(path, "rb") as file:
        try:
            while file.tell() < size:
                kind = number() & 7
                if kind == 0:
                    number()
                else:
                    file.seek(number() if kind == 2 else {1: 8, 5: 4}[kind], os.SEEK_CUR)
        except (ValueError, KeyError, OSError, OverflowError):
            return False
        return 0 < size == file.tell()


def _keep_freed_memory() -> None:
    """Let glibc reuse large buffers: every step allocates the logits, and mapping them anew each
    time cost a sixth of the processor time of a translation.
    """
    trim_threshold, mmap_threshold = -1, -3  # of mallopt(3)
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(mmap_threshold, 1 << 30)
        libc.mallopt(trim_threshold, (1 << 31) - 1)


def return_freed_memory() -> None:
    """Give back to the system what is free now, where a lot was and will not be needed again."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _choose(tf, device: str | None, devices: Sequence[str]) -> None:
    option = "--devices" if devices else "--device"
    names = [name if ":" in name or not name.isdigit() else f"gpu:{name}" for name in devices]
    chosen = [_kind_and_number(name, option) for name in (names or [device or ""]) if name]
    kinds = {kind for kind, _ in chosen}
    if len(set(chosen)) < len(chosen) or len(kinds) > 1:
        raise UsageError(f"{option} {' '.join(devices)}: different GPUs, or CPUs, are expected")
    gpus = tf.config.list_physical_devices("GPU")
    if kinds == {"cpu"}:
        tf.config.set_visible_devices([], "GPU")
        if len(chosen) > 1:
            tf.config.set_logical_device_configuration(
                tf.config.list_physical_devices("CPU")[0],
                [tf.config.LogicalDeviceConfiguration() for _ in chosen],
            )
    elif kinds == {"gpu"}:
        if max(number for _, number in chosen) >= len(gpus):
            raise CgruError(
                f"{option} {' '.join(devices) or device}: TensorFlow sees {len(gpus)} GPUs here "
                "(is the extra cgru[gpu] installed?)"
            )
        tf.config.set_visible_devices([gpus[number] for _, number in chosen], "GPU")
    for gpu in tf.config.get_visible_devices("GPU"):
        # a program that has used the GPU before has chosen how its memory is taken
        with contextlib.suppress(RuntimeError):
            tf.config.experimental.set_memory_growth(gpu, True)


def _kind_and_number(name: str, option: str) -> tuple[str, int]:
    kind, colon, number = name.partition(":")
    numbered_cpu = kind == "cpu" and colon and option == "--device"  # several alone have numbers
    if kind not in ("cpu", "gpu") or numbered_cpu or (number and not number.isdigit()):
        raise UsageError(f"{option} {name}: cpu, gpu or gpu:N is expected")
    return kind, int(number or 0)


# A checkpoint is read while TensorFlow is imported in the background: one after the other.
_descriptor_lock = threading.Lock()


@contextlib.contextmanager
def silent_descriptor() -> Iterator[None]:
    """Send what C++ writes to descriptor 2 nowhere; Python's own stderr goes on.

    TensorFlow greets on stderr before any log level is looked at.
    """
    _part_stderr()
    with _descriptor_lock, _redirected():
        yield


def _part_stderr() -> None:
    """Give Python's stderr a descriptor of its own, for good.

    For good, as another thread may have the stream in hand when descriptor 2 is redirected; a
    line written then would go nowhere.
    """
    python = sys.stderr
    with contextlib.suppress(AttributeError, OSError):  # closed at the start, or in memory
        if python.fileno() == 2:
            python.flush()
            sys.stderr = os.fdopen(
                os.dup(2), "w", buffering=1, encoding=python.encoding, errors=python.errors
            )


@contextlib.contextmanager
def _redirected() -> Iterator[None]:
    try:
        saved = os.dup(2)
    except OSError:  # closed at the start
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
