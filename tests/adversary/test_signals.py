"""A signal while Python cannot be interrupted ends the process at once, without a message."""

import os
import signal
import subprocess
import sys

import pytest
import runs
from patience import PATIENCE

pytestmark = pytest.mark.long


BOTH = pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
CATCHING = """
try:
    print("here", flush=True)
    time.sleep(600)
except BaseException as error:  # as an import machinery may that is interrupted
    print("caught", error, file=sys.stderr)
"""


def environment(folder):
    paths = f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', os.getcwd())}"
    return os.environ | {"PYTHONPATH": paths}


def stopped(folder, script, signum):
    """Exit code and messages of a script that receives a signal once it prints `here`."""
    (folder / "script.py").write_text(script)
    process = subprocess.Popen(
        [sys.executable, str(folder / "script.py")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(folder),
    )  # fmt: skip
    assert process.stdout.readline() == "here\n"
    process.send_signal(signum)
    _, messages = process.communicate(timeout=PATIENCE)  # the script would last longer
    return process.returncode, messages


@BOTH
def test_while_a_module_is_imported(tmp_path, signum):
    (tmp_path / "foreign.py").write_text("import sys, time\n" + CATCHING)
    script = "with stop_cleanly():\n    import foreign\n"
    script = f"from cgru_cli.system.signals import stop_cleanly\n{script}"
    assert stopped(tmp_path, script, signum) == (128 + signum, "")


@BOTH
def test_before_the_commands_are_imported(tmp_path, signum):
    (tmp_path / "click.py").write_text("import sys, time\n" + CATCHING)
    script = "import runpy\nrunpy.run_module('cgru_cli', run_name='__main__')\n"
    assert stopped(tmp_path, script, signum) == (128 + signum, "")


@BOTH
def test_threads_that_still_compute_keep_their_objects(tmp_path, signum):
    """Freeing what a library's threads use can end the process with another signal, SIGSEGV."""
    script = """
import atexit, sys, time
import cgru_cli.cli
from cgru_cli.__main__ import main
from cgru_cli.system.signals import stop_cleanly

class Used:
    def __del__(self):
        print("freed", file=sys.stderr)

def command():
    atexit.register(print, "cleaned", file=sys.stderr)
    print("here", flush=True)
    time.sleep(600)

used = Used()
cgru_cli.cli.main = stop_cleanly()(command)
main()
"""
    assert stopped(tmp_path, script, signum) == (128 + signum, "cleaned\n")


@BOTH
def test_while_sentencepiece_trains(tmp_path, signum):
    """SentencePiece ignores signals, so it runs in another process, which ends with this one."""
    script = """
import random
from cgru_cli.system.signals import stop_cleanly
from cgru_cli.text import subwords

def lines():
    chance = random.Random(1)
    for i in range(40_000):
        yield " ".join("".join(chance.choices("abcdefghij", k=9)) for _ in range(12))
    print("here", flush=True)

if __name__ == "__main__":
    with stop_cleanly():
        subwords.learn_pieces(lines(), "unigram", 20_000, 1.0)
"""
    assert stopped(tmp_path, script, signum) == (128 + signum, "")


@BOTH
def test_before_a_process_has_its_work(tmp_path, signum):
    """The process would print a traceback if the work did not come."""
    script = """
import time
from multiprocessing import util
from cgru_cli.system.process_pool import alone
from cgru_cli.system.signals import stop_cleanly

def spawn(*arguments):
    process = spawn_process(*arguments)
    if "spawn_main" in str(arguments):  # not the resource tracker
        print("here", flush=True)
        time.sleep(0.5)
    return process

spawn_process, util.spawnv_passfds = util.spawnv_passfds, spawn
if __name__ == "__main__":
    with stop_cleanly():
        alone(time.sleep, 30)
"""
    assert stopped(tmp_path, script, signum) == (128 + signum, "")


def test_a_terminal_does_not_interrupt_imports_of_a_process(tmp_path):
    script = """
import os, signal
from cgru_cli.system.process_pool import alone

if __name__ == "__main__":
    print(alone(len, "four"))
else:
    os.kill(os.getpid(), signal.SIGINT)
"""
    (tmp_path / "script.py").write_text(script)
    run = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment(tmp_path),
                         capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
    assert (run.returncode, run.stdout, run.stderr) == (0, "4\n", "")


# Two minutes in C code that no signal interrupts, as for a matrix of gigabytes.
DEAF = """
import hashlib
import numpy as np

def qr(matrix):
    print("here", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**28)
    raise AssertionError

np.linalg.qr = qr
"""


def test_while_weights_are_drawn(tmp_path):
    data = runs.prepared(tmp_path / "data")
    arguments = ["train", str(data), "-m", str(tmp_path / "m.npz"), *runs.PLAIN]
    script = f"{DEAF}\nfrom cgru_cli.cli import main\nmain({arguments!r})\n"
    said = "cgru: stopped before training began\n"
    assert stopped(tmp_path, script, signal.SIGTERM) == (143, said)
    # the encoded text stays, for the next start
    left = {path.name for path in tmp_path.glob("m.npz*")}
    assert left <= {"m.npz.lock", "m.npz.corpus"}
