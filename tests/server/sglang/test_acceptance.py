"""Acceptance on tensors against its meaning in plain words."""

import random

import torch

from factorspec_server.sglang.acceptance import Ends, accept, accept_reference
from factorspec_server.sglang.step_layout import NO_TOKEN


def test_tensors_accept_what_the_reference_accepts() -> None:
    source = random.Random(3)
    for _ in range(200):
        requests, decisions, stride = source.randrange(1, 6), source.randrange(1, 5), 12
        offsets = [sorted(source.sample(range(stride), decisions)) for _ in range(requests)]
        guesses = [[source.randrange(3) for _ in range(decisions - 1)] + [NO_TOKEN] for _ in range(requests)]
        known = [[source.choice((NO_TOKEN, NO_TOKEN, 1)) for _ in range(decisions)] for _ in range(requests)]
        draws = [[source.randrange(3) for _ in range(decisions)] for _ in range(requests)]
        tokens = torch.randint(100, 200, (requests, stride))
        before = tokens.clone()
        ends = Ends(torch.tensor(offsets), torch.tensor(guesses), torch.tensor(known), tokens)
        found = accept(ends, torch.tensor(draws))
        for index in range(requests):
            length, last = accept_reference(offsets[index], guesses[index], known[index], draws[index])
            assert (int(found.lengths[index]), int(found.last[index])) == (length, last)
            assert found.tokens[index, : length - 1].tolist() == before[index, : length - 1].tolist()
            assert int(found.tokens[index, length - 1]) == last
