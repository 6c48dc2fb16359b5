"""The workers of a training run, and how they meet."""

import json
import os
import socket
import threading
import time

import pytest
from patience import PATIENCE

from cgru_cli.errors import CgruError
from cgru_cli.optimization import cluster as workers
from cgru_cli.optimization.cluster import Cluster

TWO = ["a:1", "b:22"]


def config(cluster, index=0, kind="worker"):
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


def slurm(tasks, rank, **more):
    return {
        "SLURM_STEP_NUM_TASKS": str(tasks),
        "SLURM_PROCID": str(rank),
        "SLURM_JOB_ID": "45678",
        **more,
    }


def test_tf_config():
    assert Cluster.of(config({"worker": TWO}, 1)) == (("a:1", "b:22"), 1)
    chief = {"chief": ["c:3"], "worker": TWO}
    assert Cluster.of(config(chief, 0, "chief")) == (("c:3", "a:1", "b:22"), 0)
    found = Cluster.of(config(chief, 1))
    assert found == (("c:3", "a:1", "b:22"), 2) and found.name(1) == "worker 1 (a:1)"


def test_one_process_trains_alone():
    for alone in ({}, {"TF_CONFIG": " "}, {"SLURM_STEP_NUM_TASKS": "1"}):
        assert not workers.is_named(alone) and Cluster.of(alone) is None
    assert Cluster.of({"TF_CONFIG": "{}"}) is None
    assert Cluster.of(config({"worker": ["a:1"]})) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "invalid"),
        ("[]", "invalid"),
        ('{"cluster": {"worker": ["a"]}}', "'a' where HOST:PORT"),
        ('{"cluster": {"worker": ["a:1", "a:1"]}}', "the same address"),
        ('{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"index": 2}}', "no worker 2"),
        ('{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}}', "ps: only workers and one chief"),
        (
            '{"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator"}}',
            "evaluator: only workers",
        ),
    ],
)
def test_a_bad_tf_config(text, message):
    with pytest.raises(CgruError, match=f"TF_CONFIG: .*{message}"):
        Cluster.of({"TF_CONFIG": text})


def test_slurm(monkeypatch):
    given = slurm(4, 2, SLURM_STEP_NODELIST="n[1-2]", SLURM_STEP_TASKS_PER_NODE="2(x2)")
    monkeypatch.setattr(os, "environ", os.environ | given)
    found = Cluster.of(os.environ)
    assert found.addresses == ("n1:25678", "n1:25679", "n2:25678", "n2:25679")
    assert found.index == 2
    monkeypatch.delitem(os.environ, "SLURM_STEP_NODELIST")
    with pytest.raises(CgruError, match="invalid Slurm variables"):
        Cluster.of(os.environ)


# -- meeting ---------------------------------------------------------------------------------------


def here(count):
    servers = [socket.create_server(("", 0)) for _ in range(count)]
    addresses = tuple(f"localhost:{server.getsockname()[1]}" for server in servers)
    for server in servers:
        server.close()
    return [Cluster(addresses, index) for index in range(count)]


def test_they_wait_for_each_other(capsys):
    group = here(3)
    came = []

    def meet(worker):
        worker.meet(60)
        came.append(worker.index)

    threads = [threading.Thread(target=meet, args=(worker,), daemon=True) for worker in group]
    for thread in threads[1:]:
        thread.start()
    time.sleep(0.5)
    assert not came
    with socket.create_server(("", 0)):  # worker 0's address is reachable by others
        threads[0].start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(came) == [0, 1, 2]
    port = int(group[0].addresses[0].partition(":")[2])
    socket.create_server(("", port)).close()  # the port is free again


def test_other_programs_are_ignored():
    first, second = here(2)
    thread = threading.Thread(target=first.meet, args=(PATIENCE,), daemon=True)
    thread.start()
    address = ("localhost", int(first.addresses[0].partition(":")[2]))
    for words in (b"GET / HTTP/1.1", b"", b"cgru worker x"):
        while True:
            try:
                with socket.create_connection(address, 1) as stranger:
                    stranger.sendall(words)
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
    assert thread.is_alive()
    second.meet(PATIENCE)
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_missing_workers_are_named(monkeypatch, capsys):
    monkeypatch.setattr(workers, "_PATIENCE", 0.1)
    monkeypatch.setattr(workers, "_TURN", 0.2)
    first, second, _ = here(3)
    with pytest.raises(CgruError, match=r"worker 1 \(localhost:\d+\), worker 2 .* did not connect"):
        first.meet(0.7)
    assert "waiting for worker 1 (localhost" in capsys.readouterr().err
    with pytest.raises(
        CgruError, match=r"worker 0 \(localhost:\d+\) did not connect within 1 seconds"
    ):
        second.meet(0.7)
    port = int(first.addresses[0].partition(":")[2])
    with socket.create_server(("", port)), pytest.raises(CgruError, match="its port is in use"):
        first.meet(0.7)
