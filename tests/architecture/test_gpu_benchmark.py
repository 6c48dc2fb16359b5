"""Exported compiled programs compute the same as training and search."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.long


BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SIZES = (6, 5, 11)
FIRST = -0.4547069  # that is drawn below


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def made(load, name, kind, cell, *batch, precision="float32"):
    module = load("gpu_export")
    return getattr(module, name)(module.Model(kind, cell, SIZES, precision), *batch)


def values(tensors):
    """The values of tensors, and the current values of variables."""
    return [
        tf.raw_ops.ReadVariableOp(resource=t, dtype=t._handle_data.shape_and_type[0].dtype).numpy()
        if t.dtype == tf.resource
        else t.numpy()
        for t in tensors
    ]


@pytest.mark.parametrize(
    ("name", "kind", "cell", "batch"),
    [
        ("Update", "lm", "tanh", (4, (3, 3))),
        ("DecodingStep", "cgru", "gru", (2, 4, 3)),
        pytest.param("Update", "cgru", "lstm", (4, (3, 4)), marks=pytest.mark.exhaustive),
        pytest.param("Update", "tagger", "gru", (4, (3, 3)), marks=pytest.mark.exhaustive),
    ],
)
def test_the_program_equals_the_uncompiled_computation(load, name, kind, cell, batch):
    program = made(load, name, kind, cell, *batch)
    case, text, _ = program.lowered()
    function, called_with = program.made
    given = program.batched
    arguments = [*values(given), *values(program.captured)]
    device = load("gpu_run").TensorFlow()
    found = device.execute(device.compile(case, text), list(map(device.put, arguments)))
    returned = tf.nest.flatten(tf.function(function, autograph=False)(*called_with))
    after = [*values(given), *values(program.captured)]
    expected = iter(values(returned))
    assert len(found) == len(case.results) > len(returned) * (name == "Update")
    for result, kind in zip(found, case.results, strict=True):
        value = next(expected) if kind.argument < 0 else after[kind.argument]
        assert (tuple(result.shape), result.dtype.name) == (kind.shape, kind.dtype)
        np.testing.assert_allclose(result, value, rtol=1e-5, atol=1e-6)
    assert name != "Update" or not np.array_equal(after[-1], arguments[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A decoding step, exported by the command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        path = tmp_path_factory.mktemp("exported")
        sizes = ["--sizes", *map(str, SIZES), "--batch", "4", "--length", "3", "--beam", "2"]
        importlib.import_module("gpu").main(
            ["export", str(path), "--type", "lm", "--cell", "tanh", "--precision", "float32",
             "--check", "4", *sizes]
        )  # fmt: skip
    return path


def row_of(printed):
    """The only row of a printed table, by column."""
    names, _, row = [line for line in printed.splitlines() if line.startswith("| ")][:3]
    return dict(zip(names.split(" | "), row.split(" | "), strict=True))


def test_run_measures_and_compares(load, folder, capsys):
    command = ["run", str(folder), "--only", "decoding", "--seconds", "0.01", "--turns", "1"]
    load("gpu").main([*command, "--with", "tensorflow"])
    row = row_of(capsys.readouterr().out)
    assert row["| program"] == "| decoding step lm tanh 6/5/11"
    assert float(row["target words/s"].replace(",", "")) > 0
    assert float(row["difference"]) < 1e-6


def test_jax_computes_the_same(load, folder, capsys):
    pytest.importorskip("jax")
    load("gpu").main(["run", str(folder), "--seconds", "0.01", "--turns", "1", "--profile", "3"])
    printed = capsys.readouterr().out
    row = row_of(printed)
    assert float(row["difference"]) < 1e-5
    assert row["operations a step, by loop"] != ""
    assert printed.count("| operation | times | ms | share |") == 2


def test_differences_are_reported(load, folder):
    exported = load("exported")
    update, decoding = exported.read_list(folder)
    assert update.difference(folder, []) is None  # has more words than the limit for checks
    with np.load(folder / f"{decoding.name}.npz") as kept:
        results = [kept[f"result/{place}"][:-1] for place in range(len(decoding.results))]
    assert decoding.difference(folder, results) < 1e-12
    results[1] = results[1] * (1 + 1e-3)
    assert decoding.difference(folder, results) == pytest.approx(1e-3, rel=0.01)
    results[1] = results[1] * np.nan
    assert np.isnan(decoding.difference(folder, results))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_arguments_are_reproducible(load, dtype):
    argument = load("exported").Argument("", (300, 7), dtype, -0.5, 0.5, seed=3)
    numbers = argument.draw()
    assert (numbers.shape, numbers.dtype.name) == ((300, 7), dtype)
    np.testing.assert_array_equal(numbers, argument.draw())
    if dtype != "int64":
        assert -0.5 <= numbers.min() < -0.49 < 0.49 < numbers.max() <= 0.5
        assert numbers.ravel()[0] == load("exported").type_of(dtype).type(FIRST)


def test_large_arrays_are_compared_by_a_part_and_their_norm(load):
    some = load("exported").some
    array = np.ones((100, 100), np.float32)
    kept = some(array)
    assert len(kept) <= load("exported").KEPT and kept[-1] == pytest.approx(100)
    array[0, 1] = 3  # not among the compared numbers
    assert some(array)[-1] == pytest.approx(np.sqrt(10008))


def test_pytorchs_model_has_the_same_arrays(load):
    torch = pytest.importorskip("torch")
    model = load("gpu_torch").ConditionalGRU(*SIZES)
    structure = load("products").shallow(SIZES)
    ours = sum(m * n for side in load("products").sides(structure) for s in side for m, n in s)
    linear = [p for name, p in model.named_parameters() if p.ndim == 2]
    e, d, v = SIZES
    left_out = 2 * v * e + 2 * d * d + 2 * d  # embeddings, the start, the energies
    assert sum(p.numel() for p in linear) == ours + left_out
    logits = model(torch.ones(2, 4, dtype=int), torch.ones(2, 4), torch.ones(2, 3, dtype=int))
    assert logits.shape == (2, 3, v)


def compiled_text(function, *given):
    compiled = tf.function(function, jit_compile=True, autograph=False)
    return compiled.experimental_get_compiler_ir(*given)(stage="optimized_hlo")


def counted(limit, step=1):
    return tf.while_loop(
        lambda i, x: i < limit, lambda i, x: (i + step, tf.sin(x) * x), (0, tf.ones([3]))
    )[1]


def test_steps_of_loops_are_read(load):
    hlo = load("hlo")
    (loop,) = hlo.loops(compiled_text(lambda: counted(7)))
    assert loop.steps == 7
    assert loop.operations["fusion"] >= 1 and not loop.operations.keys() & hlo.FREE
    (loop,) = hlo.loops(compiled_text(lambda limit: counted(limit), tf.constant(7)))
    assert loop.steps is None


def test_transfers_and_unknown_shapes_are_found(load):
    hlo = load("hlo")
    text = """HloModule m, entry_computation_layout={()->f32[<=8]{0}}

ENTRY %main (p: f32[8], n: s32[]) -> f32[<=8] {
  %p = f32[8]{0} parameter(0)
  %n = s32[] parameter(1)
  %sent = (f32[8]{0}, u32[], token[]) send(%p, %n), channel_id=1
  %called = f32[8]{0} custom-call(%p), custom_call_target="xla_python_cpu_callback"
  ROOT %d = f32[<=8]{0} set-dimension-size(%p, %n), dimensions={0}
}
"""
    assert hlo.transfers(text) == {"send", "xla_python_cpu_callback"}
    assert hlo.unknown_shapes(text) == ["f32[<=8]{0}"]
    assert not hlo.loops(text)
