"""Steps of one input for each request: SGLang's own decoding, graphs and attention included.

Where nothing constrains a request, a step needs no plans, no block of integers and no mask rows; all that it
reads is on the device already. How long each request is behind it is known before it runs, so that is
published first: SGLang waits for these lengths before it launches the next step, and finds them when this one
begins instead of when it ends. So the device goes from step to step while the host is one ahead.
"""

from __future__ import annotations

from typing import Any

import torch

from factorspec_server.sglang import compat


def is_plain(batch: Any) -> bool:
    """True if every request of the batch takes one token under no mask, and no logprobs are wanted."""
    return not (batch.has_grammar or batch.return_logprob)


def set_inputs(batch: Any) -> None:
    """Have the batch run the last token of each request."""
    places = batch.req_to_token_pool.req_to_token[batch.req_pool_indices, batch.seq_lens]
    batch.input_ids = batch.spec_info.last_tokens
    batch.out_cache_loc = places.to(torch.int64)


def as_decode(batch: Any) -> None:
    """Make a step of one input for each request a decode: there lengths count the input."""
    batch.spec_info, batch.forward_mode = None, compat.ForwardMode.DECODE
    batch.seq_lens = batch.seq_lens + 1
    batch.seq_lens_cpu, batch.seq_lens_sum = batch.seq_lens_cpu + 1, None
