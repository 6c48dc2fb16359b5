"""The computation of a model: `encode`, `start` and `step`.

A `Network` holds a model's arrays in the form used for computation. Training scans `step`, search
calls it in a loop, scoring sums its log-probabilities, ensembles average them. Each model type has
its own file in `ladder/`: the decoders `lm`, `conditioned`, `encdec`, `seq2seq`, `rnnsearch` and
`cgru`; `classifier` and `tagger`, which predict labels.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ..parameters.cell_names import input_arrays
from ..parameters.cells import base_cells
from ..parameters.names import target_table
from ..parameters.structure import Condition, Structure, Type
from . import ops
from .attention import Place
from .encoder import Encoded, SourceEncoder, at_their_places, distinct
from .ladder.cgru import ConditionalGRU
from .ladder.classifier import Classifier
from .ladder.conditioned import ConditionedLanguageModel
from .ladder.crf import Chain
from .ladder.encdec import EncoderDecoder
from .ladder.labels import LabelReadout
from .ladder.levels import States
from .ladder.lm import LanguageModel
from .ladder.rnnsearch import RNNSearch
from .ladder.seq2seq import SequenceToSequence
from .ladder.tagger import Tagger
from .layers import Layers
from .ops import ScanCell, Tensor
from .readout import OutputColumns, Readout


class Decoder(Protocol):
    """The interface of the model types in `ladder/`, each made from a model's `Layers`."""

    def memory(self, encoded: Encoded, search: bool, /) -> Any:
        """The decoder's memory of the source: a named tuple of tensors (B,..).

        search: whether many hypotheses of each sentence will read it.
        """

    def start(self, memory: Any, /) -> States:
        """The states before the first word, one row per sentence."""

    def cell(self, memory: Any, place: Place | None, /) -> ScanCell:
        """The recurrent cell: (states, x) -> (Recurrence, states).

        Without a place, a row is a sentence.
        """


DECODERS: dict[Type, Callable[[Layers], Decoder]] = {
    Type.LM: LanguageModel,
    Type.ENCDEC: EncoderDecoder,
    Type.SEQ2SEQ: SequenceToSequence,
    Type.RNNSEARCH: RNNSearch,
    Type.CGRU: ConditionalGRU,
    Type.CLASSIFIER: Classifier,
    Type.TAGGER: Tagger,
}


class SearchState(NamedTuple):
    """The decoder's state in a search; each of R rows is a hypothesis of one sentence."""

    cells: States  # by level: (R,D) float32 each, s_j first
    sentence: Tensor  # (R,) int32: row of the memory
    slot: Tensor  # (R,) int32: number of the hypothesis within its sentence


class Network:
    """The computation of one model.

    arrays: every parameter by its DL4MT/Nematus name, as variables or plain arrays. dtype: the type
    of the products, int8 for 8-bit products; states, alignments and softmax remain float32.
    masks: dropout in training, by the names of `dropout.py`, (B,N) for a batch of B sentences.
    packed: skip padding and repeated words at run time; code compiled by XLA has fixed shapes and
    computes all positions. tiled: whether a search computes its attention in tiles that fit into
    the processor's cache.
    """

    def __init__(
        self,
        structure: Structure,
        arrays: Mapping,
        dtype: str = "float32",
        masks: Mapping[str, Tensor] | None = None,
        *,
        packed: bool = False,
        tiled: bool = False,
    ):
        self.structure, self.masks, self.packed = structure, masks or {}, packed
        layers = Layers(structure, arrays, dtype, self.masks, packed, tiled)
        self.once = packed and not self.masks  # each sentence has its own masks
        self.encoder = SourceEncoder(layers, self.once)
        conditioned = structure.condition is not Condition.NONE
        make_decoder = ConditionedLanguageModel if conditioned else DECODERS[structure.type]
        self.decoder: Decoder = make_decoder(layers)
        self.read_out: Any  # of words or of labels
        if not structure.type.writes_text:
            self.read_out = LabelReadout(layers)
            if structure.crf:
                self.chain = Chain(layers)
            return
        self.read_out = Readout(layers)
        if not structure.feedback:
            return
        self.target_embedding = layers.table(target_table(structure))
        first = base_cells(structure)[0]
        self.embedding_product = layers.product(input_arrays(first), ("decoder/readout/prev/W",))
        self.first_sums = layers.unit(first).sums

    def encode(
        self,
        source: Tensor,
        mask: Tensor,
        *,
        differentiable: bool = False,
        search: bool = False,
    ) -> Any:
        """The decoder's memory of the source.

        source: (B,S) int32, or (B,S,F) with F factors (0 without a source), each sentence ended by
        EOS; or a condition, as in `text.labels`. mask: (B,S) float32, 1 at words and EOS.
        search: whether to compute more here and less in each step, with the same results, as pays
        in a search.
        """
        if len(source.shape) == 2:
            source = source[..., None]
        return self.decoder.memory(self.encoder(source, mask, differentiable), search)

    def start(self, memory: Any) -> SearchState:
        """The decoder's state before its first word, one row per sentence."""
        cells = self.decoder.start(memory)
        rows = ops.arange(ops.shape(cells[0][0])[0])
        return SearchState(cells, rows, ops.zeros_like(rows))

    def step(
        self,
        state: SearchState,
        previous: Tensor,
        memory: Any,
        columns: OutputColumns | None = None,
    ) -> tuple[Tensor, SearchState, Tensor | tuple]:
        """Predict one target word: logits (R,V), the new state, the alignment (R,S) or ().

        previous: (R,) int32, the previous word; -1 at the start, where its embedding is zeros.
        columns: from `read_out.columns`, for the logits of N words only, (R,N).
        """
        x, previous_readout = self.embed(previous)
        cell = self.decoder.cell(memory, Place(state.sentence, state.slot))
        recurrence, cells = cell.step(state.cells, x, ())
        words = ()
        if self.structure.lexical:
            rows = ops.take(memory.embeddings, state.sentence)
            words = ops.vecmat(recurrence.alignment, rows)
        logits = self.read_out(recurrence, previous_readout, words, columns=columns)
        return logits, state._replace(cells=cells), recurrence.alignment

    def embed(
        self, previous: Tensor, kept: Tensor | None = None
    ) -> tuple[Tensor | tuple, Tensor | tuple]:
        """The products of E[y_{j-1}]: for the first cell, and for the readout.

        kept: the mask of whole-word dropout, in the shape of `previous`. With a CRF, returns the
        scores that the previous label adds, and (); for other labels, and without feedback, () and
        ().
        """
        if self.structure.crf:
            return self.chain.before(previous), ()
        if not self.structure.embeds_target:
            return (), ()
        words, places = distinct(previous) if self.once else (previous, None)
        known = ops.cast(words >= 0, "float32")
        if kept is not None:
            known *= kept
        embedding = self.target_embedding.take(ops.maximum(words, 0)) * known[..., None]
        xW, readout = self.embedding_product(embedding)
        x = self.first_sums.from_input(xW)
        return at_their_places(x, places), at_their_places(readout, places)
