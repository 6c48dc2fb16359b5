"""Nematus-TF checkpoints (`model-1500.index`, `.data-00000-of-00001`), without their graph.

The only file format here that needs TensorFlow; it is imported when one is read or written.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ..errors import CgruError, reason
from ..system.atomic_files import put
from ..system.tensorflow_start import silent_descriptor
from .checkpoint_index import DAMAGED, read_index

INDEX = ".index"
DATA = ".data-00000-of-00001"
UPDATES = "time"  # Nematus-TF's number of training updates, a variable that its Saver asks for


def read_checkpoint(
    prefix: Path, skip: Callable[[str], bool] = lambda name: False
) -> dict[str, np.ndarray]:
    """Arrays by variable name, but for those whose name is to be skipped.

    Raises CgruError naming the checkpoint where it is damaged or a part is missing.
    """
    stored = sum(file.stat().st_size for file in prefix.parent.glob(f"{prefix.name}.data-*"))
    if not stored:
        raise CgruError(f"{prefix}{DATA}: no such file, but {prefix.name}{INDEX} needs it")
    index = read_index(prefix)  # TensorFlow ends the process for some that are damaged
    arrays = {}
    name = ""
    try:
        reader = _tensorflow().train.load_checkpoint(str(prefix))
        for name in sorted(name for name in index if not skip(name)):
            if index[name].is_text:
                raise CgruError(f"{prefix}: array {name}: holds text, which no model has")
            arrays[name] = np.asarray(reader.get_tensor(name))
    except CgruError:
        raise
    except Exception as error:
        where = f": array {name}" if name else ""
        raise CgruError(f"{prefix}{where}: {DAMAGED} ({reason(error)})") from None
    return arrays


def write_checkpoint(prefix: Path, arrays: Mapping[str, np.ndarray], updates: int = 0) -> None:
    """Write what `tf.train.Saver` of Nematus-TF restores, the index (which makes it one) last.

    Raises CgruError where the files cannot be written.
    """
    tensorflow = _tensorflow()
    named = {**arrays, UPDATES: np.float32(updates)}
    temporary = prefix.with_name(f".{prefix.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        # TensorFlow would make missing folders; a misspelt path is an error here as elsewhere.
        if not prefix.parent.is_dir():
            raise CgruError(f"{prefix}: cannot be written: No such file or directory")
        tensorflow.raw_ops.SaveV2(
            prefix=str(temporary),
            tensor_names=list(named),
            shape_and_slices=[""] * len(named),
            tensors=[tensorflow.constant(array) for array in named.values()],
        )
        for suffix in (DATA, INDEX):
            part = temporary.with_name(temporary.name + suffix)
            with open(part, "rb") as stream:
                os.fsync(stream.fileno())
            # a name of its own, which outlasts this function where others are waited for
            whole = temporary.with_name(f".{secrets.token_hex(6)}.{prefix.name[:100]}.tmp")
            os.replace(part, whole)
            try:
                put(whole, prefix.with_name(prefix.name + suffix))
            except BaseException:
                whole.unlink(missing_ok=True)
                raise
    except (tensorflow.errors.OpError, OSError) as error:
        raise CgruError(f"{prefix}: cannot be written: {reason(error)}") from None
    finally:
        for left in temporary.parent.glob(f"{temporary.name}*"):
            with contextlib.suppress(OSError):
                left.unlink()


def _tensorflow():
    """Import TensorFlow, whose greetings are of no use here."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with silent_descriptor():
        import tensorflow
    return tensorflow
