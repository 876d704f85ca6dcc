"""DecompX: every state of the model split into one vector per token, from the embeddings to the logits.

x_i<-k is the part of token k in the state of position i; all parts of a position sum to its true state. Through a layer

    attention    u_i<-k = sum over heads h, positions j of  A_h,ij x_j<-k W_V,h W_O,h + x_i<-k, and W_O b_V + b_O shared
    norm         scale * (x_i<-k - mean x_i<-k) / deviation of the true state, and the shift shared
    MLP          W_2 (f(z_i) / z_i * (W_1 x_i<-k + share of b_1)) + share of b_2, with z_i the true pre-activation

and on through pooler, activation and classifier by the same rules: a_k is token k's part of the logit. A bias b is
shared out among the k in proportion to

    absdot    |x_i<-k . b|          norm    |x_i<-k|_2          equal    1 where x_i<-k is not 0
    cls       all to the first token          token    none: biases are one source more, that no feature gets

The slope f(z) / z is that of the line through the origin, 0.5 for GELU at z = 0. Sources are the states that enter the
first layer, one per token, special ones included; up to the first attention biases belong to the token itself. Under
`token` they do not, so that the parts are linear in the embeddings. The parts sum to the logit; the receipt's gap
counts special tokens and biases, features do not get them. Attention is a constant, so that queries and keys get no
part; of a gated MLP the activated gate is one too (ModernBERT), and label attention as well.

`output="vector"` scores a token by the length of its part of what the classifier reads, which has no sign and no class.
`layer` l takes the parts after l layers and lets the model's own head read them, with its slopes and label attention at
what it makes of the states after l layers: a_k sums to the logit of the model cut off there.

Reference: Modarressi et al. 2023. Cost: two forward passes (three with label attention), and N times the products of a
forward pass. Memory: N^2 D numbers, and `memory` less those for what is worked on at once; by default 64 MB, if so much
is free.
The published code is of BERT and RoBERTa; it builds heads x N x N x D tensors, takes the slope 0 at z = 0, adds 1e-12
to what it divides by, and puts the values' bias of the first layer to the tokens under `token` as well.
"""

from typing import Literal

import torch
from torch import Tensor

from whylight.core.errors import InputError
from whylight.core.memory import free_bytes, in_bytes, told
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.methods._decomposition import COPIES, Bias, Decomposition
from whylight.methods._layers import up_to
from whylight.views.layers import HeadReading, Recorded
from whylight.views.trace import TraceView

BLOCK_BYTES = 2**26
"""Memory for what is worked on at once, where nothing is said."""


@method(
    cite="modarressi2023",
    signed=True,
    cost="2 forward, n times the products of one",
    good_for="splitting a logit among the features, layer by layer, biases included",
    complete=True,
    scores=("logit",),
    layers="any",
)
def decompx(
    trace: TraceView,
    *,
    bias: Bias = "absdot",
    output: Literal["classifier", "vector"] = "classifier",
    layer: int | None = None,
    memory: str | None = None,
) -> Scores:
    """Split the logit among the tokens by carrying each one's part through every layer."""
    recorded = trace.recorded()
    depth = len(up_to(range(recorded.n_layers), layer))
    reading = recorded.reading(depth)
    how = Decomposition(bias, _budget(recorded, memory, rows=len(reading.rows)))
    parts = _answers(how, reading, _read_sources(how, recorded, reading, depth), to_vector=output == "vector")
    if bias == "cls":  # nothing tells sources apart on the way, so that the first may get them at the end
        parts[:, 0] += parts[:, -1]
        parts = parts[:, :-1]
    some = slice(0, -1 if bias == "token" else None)  # the last source is then that of all biases
    if output == "vector":
        lengths = torch.linalg.vector_norm(parts, dim=-1)[recorded.row]  # [targets, sources]
        return Scores(trace.to_features(lengths[:, some]), signed=False)
    scores = parts[recorded.row, :, recorded.column] * recorded.sign[:, None]
    gap = (scores.double().sum(-1) - recorded.logits.double()).cpu().numpy()
    return Scores(trace.share_out(scores[:, some]), gap=gap if depth == recorded.n_layers else None)


def _read_sources(how: Decomposition, recorded: Recorded, reading: HeadReading, depth: int) -> Tensor:
    """Return what the head reads of each source, `[rows, sources, width]`."""
    sizes = [len(block.states[0]) for block in recorded.blocks]
    found = reading.rows.new_zeros(len(reading.rows), sum(sizes) + how.apart, recorded.blocks[0].states[0].shape[1])
    start = 0
    for block, size in zip(recorded.blocks, sizes, strict=True):
        own = reading.rows[:, start : start + size]
        (rows,) = torch.nonzero(own.any(0), as_tuple=True)
        parts = how.states(block, depth, rows)
        if reading.norm is not None:
            how.through(parts, reading.norm.at(rows + start))
        read = (own[:, rows] @ parts.flatten(1)).reshape(len(own), *parts.shape[1:])
        found[:, start : start + size] = read[:, :size]
        if how.apart:
            found[:, -1] += read[:, -1]
        start += size
    return found


def _answers(how: Decomposition, reading: HeadReading, parts: Tensor, *, to_vector: bool) -> Tensor:
    """Send what was read through the head, row by row; or only as far as the classifier, which is its last step."""
    steps = reading.steps[:-1] if to_vector else reading.steps
    found = []
    for row in range(len(parts)):
        own, some = parts[row : row + 1], slice(row, row + 1)
        for step in steps:
            own = how.through(own, step.at(some))
        found.append(own)
    return torch.cat(found)


def _budget(recorded: Recorded, memory: str | None, *, rows: int) -> int:
    """Return how many bytes may be worked on at once, beside the decomposed states and what is read of them."""
    size, total = (choose(len(block.states[0]) for block in recorded.blocks) for choose in (max, sum))
    state = recorded.blocks[0].states[0][0].nbytes
    kept = ((size + 1) * size + rows * (total + 1)) * state
    least = kept + COPIES * (size + 1) * state
    limit = in_bytes(memory) if memory is not None else _free_bytes_on(recorded.logits.device)
    if limit is not None and limit < least:
        reason = f"'memory' allows {told(limit)}" if memory is not None else f"{told(limit)} are free"
        raise InputError(
            f"'decompx' needs {told(least)} for {size} tokens at once, and {reason}; use 'decompx_linear'."
        )
    if limit is None:
        return BLOCK_BYTES
    return limit - kept if memory is not None else min(BLOCK_BYTES, limit - kept)


def _free_bytes_on(device: torch.device) -> int | None:
    """Return the memory that is free where tensors of a device live, or None if the system does not say."""
    return int(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else free_bytes()
