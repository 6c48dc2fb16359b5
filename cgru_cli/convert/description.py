"""The description of a model, for `cgru convert --info`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..errors import CgruError
from ..formats import model_vocabularies
from ..formats.model import Model
from ..formats.structure_from_arrays import plain
from ..parameters.structure import WITHOUT_FEEDBACK, Condition, Structure, Type
from ..system.terminal import table

_DECODER = """
    decoder target_embedding deep_context tied_output shared_embeddings readout_activation mixture
    lexical
"""


def describe(model: Model, given: Sequence[str] = ()) -> dict:
    """The description as plain values, for `--info --json`."""
    structure = model.structure
    description = {
        "path": str(model.path),
        "program": model.program,
        "container": model.container,
        "precision": model.precision,
        "configuration": model.settings.source,
        "structure": _structure(structure),
        "right_left": model.settings.right_left,
        "source_reversed": model.settings.source_reversed and structure.type.reads_source,
        "parameters": model.parameter_count,
        "arrays": [
            {"name": p.name, "symbol": p.symbol, "path": p.path, "shape": list(p.size(structure))}
            for p in model.parameters()
        ],
        "inert": sorted(model.inert),
    }
    try:
        vocabularies = model_vocabularies.find(model, given)
    except CgruError as error:
        if given:
            raise
        description |= {"vocabularies": [], "vocabulary_error": str(error)}
    else:
        description["vocabularies"] = [
            {"path": v.path, "format": v.format, "words": v.size, "unk": v.unk_id}
            for v in vocabularies
        ]
    return description


def _structure(structure: Structure) -> dict:
    """A structure's fields as plain values, except fields that its type does not use."""
    values = json.loads(json.dumps(structure.as_dict()))
    kind = structure.type
    unused = {  # prefixes of the field names
        _DECODER: not kind.writes_text,
        "source_ encoder": not kind.reads_source,
        "pooling": kind is not Type.CLASSIFIER,
        "crf": kind is not Type.TAGGER,
        "condition": structure.condition is Condition.NONE,
        "feedback": kind not in WITHOUT_FEEDBACK,
    }
    left_out = tuple(" ".join(names for names, is_so in unused.items() if is_so).split())
    return {n: v for n, v in values.items() if not n.startswith(left_out)}


def as_text(description: dict, arrays: bool) -> str:
    """The description as a table, for `--info`; arrays: whether to list the arrays."""
    rows = [
        ("model", description["path"]),
        ("program", f"{description['program']} ({description['container']})"),
        ("configuration", description["configuration"] or "none"),
        ("parameters", f"{description['parameters']:,} in {len(description['arrays'])} arrays"),
    ]
    if description["container"] == "onnx":
        rows.append(("precision", description["precision"]))
    for name, value in description["structure"].items():
        rows.append((name.replace("_", " "), plain(value)))
    for name, text in (("right_left", "writes"), ("source_reversed", "reads")):
        if description[name]:
            rows.append((text, "from the end"))
    for one in description["vocabularies"]:
        rows.append(("vocabulary", f"{one['path']} ({one['format']}, {one['words']})"))
    if "vocabulary_error" in description:
        rows.append(("vocabularies", f"not found ({description['vocabulary_error']})"))
    if arrays:
        for array in description["arrays"]:
            shape = " x ".join(map(str, array["shape"]))
            rows.append(("array", f"{array['name']:<24} {shape:<14} {array['symbol']}"))
    return table(rows)
