"""Models prepared for ONNX Runtime, and the sessions that run their graphs."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CgruError, reason, warn
from ..formats.model import Model
from ..parameters.structure import Structure
from ..system.side_by_side import processors

if TYPE_CHECKING:
    from ..network.graphs import Computation
    from ..network.network import Network

CUDA = "CUDAExecutionProvider"
_TYPES = {"tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": np.bool_}
_ERRORS_ONLY = 4  # errors become exceptions anyway


class PreparedModel:
    """One model for search and scoring: its network, whose arrays are constants of graphs."""

    def __init__(
        self,
        structure: Structure,
        arrays: Mapping[str, Any],
        settings: Settings | None = None,
        *,
        once: bool = False,
    ):
        """arrays: float32, or `Integers`, by their DL4MT/Nematus names. once: whether the graphs of
        an ensemble are all that the model is for, so that its arrays may then be released.
        """
        from ..network import graphs

        self.structure = structure
        self.settings = settings or Settings()
        self._once = once
        self.network: Network = graphs.network_of(structure, arrays)

    def release(self) -> None:
        """Release the network and its arrays, unless other graphs may need them."""
        if self._once:
            del self.network

    def session(self, computation: Computation) -> Session:
        """A session for a graph of this model."""
        return Session(computation, self.settings)


class Settings:
    """Where sessions compute: the device and the number of threads of each call."""

    def __init__(self, device: str | None = None, threads: int | None = None):
        """device: cpu, gpu or gpu:N; by default a GPU if ONNX Runtime has one. threads: by default
        one for each processor.
        """
        self.threads = threads or processors()
        self.providers: list[Any] = ["CPUExecutionProvider"]
        if uses_gpu(device):
            number = int((device or "").partition(":")[2] or 0)
            self.providers.insert(0, (CUDA, {"device_id": number}))
        elif device and device != "cpu":
            _warn_without_gpu(device)


@functools.cache  # once for all models of a process
def _warn_without_gpu(device: str) -> None:
    warn(
        f"--device {device}: ONNX Runtime has no GPU here (is onnxruntime-gpu installed, and not "
        "onnxruntime?); using the CPU"
    )


def uses_gpu(device: str | None) -> bool:
    """Whether sessions compute on a GPU; device: as for `Settings`."""
    import onnxruntime

    return device != "cpu" and CUDA in onnxruntime.get_available_providers()


class Session:
    """A session of ONNX Runtime. Several threads may run it at the same time."""

    def __init__(self, computation: Computation, settings: Settings):
        """Raises CgruError if ONNX Runtime cannot prepare the graph."""
        self._session = _session(computation, settings.threads, settings.providers)
        several = settings.threads > 1 or len(settings.providers) > 1
        self._process = os.getpid() if several else None  # the only process that can run it
        # kept only if `share_processors` may need it, because it holds arrays
        self._computation = computation if settings.threads > 1 else None
        self._providers = settings.providers
        self._inputs = {one.name: one for one in self._session.get_inputs()}
        self._shapes = {one.name: one.shape for one in self._session.get_outputs()}

    def share_processors(self) -> None:
        """Compute each call in one thread from now on, because several calls run side by side.

        Raises CgruError in a fork, like `run`.
        """
        self._check_process()
        computation = self._computation  # another thread may remove it
        if computation is not None:
            self._session = _session(computation, 1, self._providers)
            self._computation = None
            self._process = self._process if len(self._providers) > 1 else None

    @property
    def outputs(self) -> list[str]:
        """The names of all outputs, in order."""
        return list(self._shapes)

    def shape(self, name: str) -> list[Any]:
        """The shape of an output, without numbers for sizes that vary."""
        return self._shapes[name]

    def empty_inputs(self) -> dict[str, np.ndarray]:
        """Every input with size 0, for those that a call does not read."""
        return {
            name: np.zeros([n if isinstance(n, int) else 0 for n in one.shape], _TYPES[one.type])
            for name, one in self._inputs.items()
        }

    def run(self, outputs: Sequence[str], inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The outputs by name; the graph may lack some of the inputs.

        Raises MemoryError, and CgruError in a fork of the process that made the session, unless it
        has one thread on the CPU.
        """
        self._check_process()
        feed = {}
        for name, x in inputs.items():
            if name not in self._inputs:
                continue
            kind = _TYPES[self._inputs[name].type]
            if x.dtype != kind:  # numbers of a condition, by their bits
                x = x.view(kind)
            feed[name] = np.asarray(x, order="C")
        try:
            return self._session.run(outputs, feed)
        except Exception as error:
            if _lacks_memory(error):
                raise MemoryError from None
            raise

    def _check_process(self) -> None:
        """Raise CgruError where ONNX Runtime would wait for threads that a fork does not have."""
        if self._process not in (None, os.getpid()):
            raise CgruError(
                "ONNX Runtime hangs in a process forked from one that has loaded the model; start "
                "processes with multiprocessing.get_context('spawn'), load models only in forked "
                "processes, or give --cpu-threads 1"
            )


def _session(computation: Computation, threads: int, providers: list[Any]) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # spinning between the products of a step would take half of the CPU time
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = _ERRORS_ONLY
    if computation.arrays:
        values = map(onnxruntime.OrtValue.ortvalue_from_numpy, computation.arrays.values())
        options.add_external_initializers(list(computation.arrays), list(values))
    try:
        return onnxruntime.InferenceSession(computation.content, options, providers=providers)
    except Exception as error:
        if _lacks_memory(error):
            raise MemoryError from None
        raise CgruError(f"ONNX Runtime cannot prepare the model: {reason(error)}") from None


def _lacks_memory(error: Exception) -> bool:
    """Whether memory is lacking; only the text of ONNX Runtime's errors tells."""
    return bool(re.search("Failed to allocate memory|bad_alloc", str(error)))


def prepared(
    model: Model,
    precision: str = "float32",
    settings: Settings | None = None,
    *,
    once: bool = False,
) -> PreparedModel:
    """Prepare a model for search and scoring; this removes its arrays from it.

    precision: float32 or int8; the arrays of an 8-bit file remain so. once: as in `PreparedModel`.
    """
    arrays: Mapping[str, Any] = model.arrays
    model.arrays = {}
    if precision == "int8" and model.precision != "int8":
        from ..network.integer_products import in_8_bits

        arrays = in_8_bits(model.structure, arrays)
    return PreparedModel(model.structure, arrays, settings, once=once)
