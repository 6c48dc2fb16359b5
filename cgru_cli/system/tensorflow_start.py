"""Start TensorFlow for training: quickly and quietly, on the chosen devices and threads."""

import contextlib
import ctypes
import gc
import os
import sys
import threading
from collections.abc import Iterator, Sequence

from ..errors import CgruError, UsageError, reason

LEAST_ADDRESSES = 2400 << 20  # bytes of address space, most of which never become memory
# Keras imports these if they are installed, for features that cgru does not use. Hiding them saves
# 0.9 s of CPU time.
UNUSED = ("matplotlib", "scipy", "IPython")


def start(
    device: str | None,
    threads: int | None,
    devices: Sequence[str] = (),
    *,
    compilation_cache: bool = False,
) -> None:
    """Import TensorFlow, and choose its device (cpu, gpu, gpu:N) and its number of threads.

    devices: several devices instead: gpu:N or N, or cpu:0, cpu:1, ... that share the processors.
    compilation_cache: keep XLA's compiled code for later processes. Raises CgruError if TensorFlow
    cannot be loaded, a device does not exist, or TensorFlow has already computed in this process.
    """
    _check_addresses()
    if compilation_cache:
        _keep_compiled()
    with contextlib.nullcontext() if "tensorflow" in sys.modules else quick_import():
        import_tensorflow()
    import tensorflow as tf

    if threads is not None and threads < 1:
        raise UsageError(f"--cpu-threads {threads}: at least one is needed")
    try:
        with _silent_descriptor():
            _choose(tf, device, devices)
            if threads is not None:
                tf.config.threading.set_intra_op_parallelism_threads(threads)
                tf.config.threading.set_inter_op_parallelism_threads(threads)
    except RuntimeError:  # TensorFlow has already computed
        raise CgruError(
            "device and threads must be chosen before TensorFlow computes for the first time"
        ) from None


def import_tensorflow() -> None:
    """Import TensorFlow and Keras quietly, without other changes to the process.

    Raises CgruError if TensorFlow cannot be loaded, or Keras runs on another backend.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # oneDNN is also faster on processors without AVX-512, where TensorFlow leaves it off
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    if "keras" not in sys.modules:
        os.environ["KERAS_BACKEND"] = "tensorflow"
    if "tensorflow" not in sys.modules:
        _keep_freed_memory()
    try:
        with _silent_descriptor():
            import keras
            import tensorflow  # noqa: F401
    except Exception as error:
        raise CgruError(f"TensorFlow cannot be loaded: {reason(error)}") from None
    if keras.config.backend() != "tensorflow":
        raise CgruError(
            f"Keras runs on {keras.config.backend()} here; cgru needs it on TensorFlow: set "
            "KERAS_BACKEND=tensorflow before Keras is imported"
        )


@contextlib.contextmanager
def quick_import() -> Iterator[None]:
    """Speed up the import of TensorFlow inside the block, in a process that runs only cgru.

    Hides the packages in `UNUSED`, and keeps Python's garbage collector from scanning a third of a
    million new objects, which saves another 1.0 s of CPU time.
    """
    hidden = [name for name in UNUSED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: cannot be imported
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
        gc.freeze()
        if collecting:
            gc.enable()


def _check_addresses() -> None:
    """Raise CgruError if TensorFlow would crash because `ulimit -v` is too low."""
    try:
        import resource
    except ImportError:  # not Unix
        return
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed != resource.RLIM_INFINITY and allowed < LEAST_ADDRESSES:
        raise CgruError(
            f"TensorFlow cannot be loaded: `ulimit -v` allows {allowed >> 20} MiB; it needs "
            f"{LEAST_ADDRESSES >> 20} MiB and the size of the model"
        )


def _keep_compiled() -> None:
    """Set XLA's persistent cache, in the user's cache folder, unless it is already set."""
    flags = os.environ.get("TF_XLA_FLAGS", "")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if "persistent_cache" in flags or not os.path.isabs(home):  # users without a home folder
        return
    folder = os.path.join(home, "cgru", "xla")
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)  # TensorFlow does not create it
        for entry in os.scandir(folder):
            if entry.is_file() and not _is_complete(entry.path):
                os.unlink(entry.path)
        os.environ["TF_XLA_FLAGS"] = f"{flags} --tf_xla_persistent_cache_directory={folder}"


def _is_complete(path: str) -> bool:
    """Whether a file is a complete Protocol Buffers message.

    After a full disk or a crash, XLA would fail on an incomplete file at every start.
    """
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.message import DecodeError

    with open(path, "rb") as file:
        content = file.read()
    try:
        Empty.FromString(content)  # parses all fields as unknown fields
    except DecodeError:
        return False
    return bool(content)


def _keep_freed_memory() -> None:
    """Let glibc keep large buffers for reuse.

    Every update allocates the logits, and mapping their pages again takes CPU time.
    """
    trim_threshold, mmap_threshold = -1, -3  # of mallopt(3)
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(mmap_threshold, 1 << 30)
        libc.mallopt(trim_threshold, (1 << 31) - 1)


def return_freed_memory() -> None:
    """Return free memory to the system, after a phase that needed much memory."""
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
        # fails in a program that has already used the GPU, and keeps that program's setting
        with contextlib.suppress(RuntimeError):
            tf.config.experimental.set_memory_growth(gpu, True)


def _kind_and_number(name: str, option: str) -> tuple[str, int]:
    kind, colon, number = name.partition(":")
    numbered_cpu = kind == "cpu" and colon and option == "--device"  # only --devices numbers CPUs
    if kind not in ("cpu", "gpu") or numbered_cpu or (number and not number.isdigit()):
        raise UsageError(f"{option} {name}: cpu, gpu or gpu:N is expected")
    return kind, int(number or 0)


_descriptor_lock = threading.Lock()  # or a second thread would save the first thread's redirection


@contextlib.contextmanager
def _silent_descriptor() -> Iterator[None]:
    """Discard the output of C++ code to descriptor 2, while Python's stderr still works.

    TensorFlow writes a greeting to it before it reads any log level.
    """
    with _descriptor_lock:
        try:
            saved = os.dup(2)
        except OSError:  # closed from the start
            yield
            return
        stream = sys.stderr
        with contextlib.suppress(AttributeError, OSError):  # None, or in memory
            if stream.fileno() == 2:
                stream.flush()
                stream = open(saved, "w", 1, stream.encoding, stream.errors, closefd=False)  # noqa: SIM115
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        try:
            with contextlib.redirect_stderr(stream):
                yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
