"""What an engine does with a spec, here with random logits. Run it: ``python examples/engine_session.py``.

An engine runs ``plan.tokens`` in one step, samples under the row at the choice behind them, and commits both.
"""

import numpy as np

from factorspec_sdk.decoding import Decoder
from factorspec_sdk.graph.compile import compile_spec
from factorspec_sdk.testing import vocabulary_like
from factorspec_sdk.tokens import Canonical, unpack_row
from factorspec_sdk.wire import parse_document

SPEC = {
    "type": "object",
    "properties": {
        "from": {"enum": ["Oslo", "Rome", "São Paulo"]},
        "to": {"enum": ["Oslo", "Rome", "São Paulo"]},
        "nights": {"type": "integer", "minimum": 1, "maximum": 30},
        "note": {"type": "string", "maxLength": 12},
    },
    "required": ["from", "to", "nights", "note"],
    "additionalProperties": False,
    "x-factorspec": {
        "version": 1,
        "order": ["from", "to", "nights", "note"],
        "relations": [{"name": "away", "kind": "all_different", "over": ["$.from", "$.to"]}],
    },
}


def main(seed: int = 0) -> None:
    """Write one record and print it."""
    # Once per model; of a real one: Vocabulary.from_file("tokenizer.json", logit_width, end_ids).
    vocabulary = vocabulary_like("smollm2")
    canonical = Canonical(vocabulary)

    # Once per spec; threads may share the decoder.
    compiled = compile_spec(parse_document(SPEC))
    decoder = Decoder(compiled.program, compiled.feasibility, vocabulary, canonical=canonical)

    # Once per request.
    session = decoder.session(token_limit=200)
    row, source = np.zeros(vocabulary.row_words, np.int32), np.random.default_rng(seed)
    while session.state == "open":
        plan = session.plan(width=64)
        session.commit(plan.tokens)  # certain: the model need not be asked
        if plan.choices:  # none where the record is complete, or the width cut the plan
            session.fill_row(row)
            allowed = unpack_row(row)
            logits = source.normal(size=vocabulary.logit_width)
            session.commit([allowed[np.argmax(logits[allowed])]])
    print(session.text)
    print(session.report)


if __name__ == "__main__":
    main()
