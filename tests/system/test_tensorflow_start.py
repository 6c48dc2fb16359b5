"""Starting TensorFlow: quietly, on a device, with some threads."""

import gc
import os
import subprocess
import sys

import pytest

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.system import tensorflow_start

pytestmark = pytest.mark.long


def test_a_silent_descriptor_discards_only_output_of_c(capfd):
    with tensorflow_start._silent_descriptor():
        os.write(2, b"from C\n")
        sys.stderr.write("from Python\n")
    os.write(2, b"after\n")
    err = capfd.readouterr().err
    assert "from C" not in err and "after" in err


def test_invalid_devices_and_threads():
    for device in ("tpu", "gpu:x", "cuda", "cpu:1"):
        with pytest.raises(UsageError, match="cpu, gpu or gpu:N"):
            tensorflow_start.start(device, None)
    with pytest.raises(CgruError, match="sees 0 GPUs"):
        tensorflow_start.start("gpu:99", None)
    with pytest.raises(UsageError, match="at least one"):
        tensorflow_start.start("cpu", 0)


def test_garbage_is_collected_only_after_a_quick_import():
    assert gc.isenabled()
    with pytest.raises(ValueError), tensorflow_start.quick_import():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()


def test_start_is_quiet():
    """A separate process shows all of stderr."""
    program = (
        "import os, sys\n"
        "from cgru_cli.system import tensorflow_start\n"
        "with tensorflow_start._silent_descriptor():\n"
        "    os.write(2, b'from C\\n')\n"
        "    sys.stderr.write('written \\N{SNOWMAN}\\n')\n"
        "tensorflow_start.start('cpu', 3)\n"
        "from tensorflow.config import threading as t\n"
        "print(t.get_intra_op_parallelism_threads(), t.get_inter_op_parallelism_threads())\n"
        "tensorflow_start.start('cpu', 1)\n"
        "assert not {'matplotlib', 'scipy', 'IPython'} & set(sys.modules)\n"
        "import matplotlib, scipy  # hidden only from Keras\n"
        "import tensorflow as tf\n"
        "print(tf.config.threading.get_intra_op_parallelism_threads())\n"
        "print(float(tf.reduce_sum(tf.matmul(tf.ones([9, 9]), tf.ones([9, 9])))))"
    )
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["3", "3", "1", "729.0"]
    assert done.stderr == "written \\u2603\n"


def test_start_in_a_program_that_has_computed():
    program = (
        "from cgru_cli.errors import CgruError\n"
        "from cgru_cli.system.tensorflow_start import start\n"
        "start('cpu', 2)\n"
        "import tensorflow as tf\n"
        "assert tf.config.threading.get_intra_op_parallelism_threads() == 2\n"
        "tf.constant(1) + 1\n"
        "start(None, None)\n"
        "try:\n"
        "    start('cpu', 3)\n"
        "except CgruError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    message = "device and threads must be chosen before TensorFlow computes for the first time\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, message, "")


def test_keras_on_another_backend(monkeypatch):
    import keras

    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(CgruError, match="Keras runs on jax here; cgru needs it on TensorFlow: set"):
        tensorflow_start.import_tensorflow()


def test_too_few_addresses_are_an_error_before_tensorflow_crashes():
    program = "from cgru_cli.system.tensorflow_start import start; start(None, 1)"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v 1500000; {sys.executable} -c '{program}'"],
        capture_output=True,
        text=True,
    )
    assert "CgruError: TensorFlow cannot be loaded: `ulimit -v` allows 1464 MiB" in done.stderr


def test_threads_that_start_operations(monkeypatch):
    tensorflow_start.import_tensorflow()
    import tensorflow as tf

    asked = []
    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", lambda _: None)
    monkeypatch.setattr(tf.config.threading, "set_inter_op_parallelism_threads", asked.append)
    tensorflow_start.start(None, None)
    assert asked == []  # TensorFlow's default: one per processor
    tensorflow_start.start(None, 3)
    assert asked == [3]
