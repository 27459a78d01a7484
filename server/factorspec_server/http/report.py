"""The report of one answer: what enforcing cost, where tokens came from, what each relation says.

::

    {"exact": true, "near_limit": false, "prompt_tokens", "reused", "tokens", "certain", "chosen", "free",
     "choice_points", "model_steps", "fill_steps", "guessed", "accepted",
     "drafts": {"certain": {"drafted", "accepted"}, "branch": {...}, "text": {...}, "earlier": {...}},
     "tokens_run", "in_vain", "widest", "prefill_s", "decode_s", "compile_s", "spec_cached", "seed",
     "relations": [{"name", "place", "outcome", "enforced", "why", "explanation"}],
     "objective": [{"name", "goal", "value", "best", "bound", "proven", "gap"}],      one a level
     "calls": [{"name", "spec_hash", "relations", "objective"}],      where there are tools: of each call
     "origins": [[token's text, "certain" | "chosen" | "free"], ...]}      where the request asks for it

Of ``drafts``, ``certain`` are all tokens that the spec determines, behind guesses too; ``guessed`` and
``accepted`` are the sums of the others. What is accepted of all kinds and what was chosen without a guess are
the record, whichever engine wrote it::

    tokens = sum of drafts[…]["accepted"] + choice_points - accepted

Where nothing is drafted certain tokens are drawn as others are, and ``drafts`` has none.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from factorspec_sdk.errors import JsonValue
from factorspec_sdk.explaining.spec_report import certificate_json
from factorspec_sdk.relations.checking import Verdict
from factorspec_sdk.relations.objective import shown_value
from factorspec_sdk.tokens import Vocabulary
from factorspec_sdk.wire import Spec
from factorspec_sdk.wire.check import check_spec, objective_values
from factorspec_server.engines import Usage
from factorspec_server.http.compiled_spec import CompiledSpec

if TYPE_CHECKING:
    from factorspec_server.http.answer_maker import AnySession
    from factorspec_server.http.enforced import Enforced


@dataclass(frozen=True, slots=True)
class Written:
    """A record that was written, or a call's arguments.

    Attributes:
        compiled: its spec.
        value: the record; None: it is not complete.
        name: of the tool that is called; "" for a record.
    """

    compiled: CompiledSpec
    value: JsonValue
    name: str = ""

    def judged(self) -> dict[str, JsonValue]:
        """What each relation says, and what was reached of the objective."""
        certificates = [certificate_json(certificate) for certificate in self.compiled.certificates]
        return record_report(self.compiled.spec, self.value, certificates)


def report_of(
    session: AnySession, usage: Usage, enforced: Enforced, written: Sequence[Written]
) -> dict[str, JsonValue]:
    """The report, without what belongs to the request itself.

    Args:
        session: of the answer.
        usage: what it cost.
        enforced: what was to be enforced.
        written: what it holds.
    """
    none: dict[str, JsonValue] = {"relations": [], "objective": []}
    record = next((each.judged() for each in written if not each.name), none)
    calls: list[JsonValue] = [
        {"name": each.name, "spec_hash": each.compiled.spec.hash, **each.judged()}
        for each in written
        if each.name
    ]
    compile_s = sum(compiled.compile_s for compiled in enforced.specs)
    return {
        **report_from({**session_counts(session), **record}, usage, compile_s),
        **({"calls": calls} if enforced.tools else {}),
    }


def report_from(told: Mapping[str, JsonValue], usage: Usage, compile_s: float) -> dict[str, JsonValue]:
    """The report of a record.

    Args:
        told: ``session_counts`` and ``record_report``, wherever they were made.
        usage: what it cost.
        compile_s: seconds that compiling took.
    """
    return {
        **told,
        "prompt_tokens": usage.prompt_tokens,
        "reused": usage.reused,
        "model_steps": usage.model_steps,
        "fill_steps": usage.fill_steps,
        "guessed": usage.guessed,
        "accepted": usage.accepted,
        "drafts": {kind: {**asdict(count)} for kind, count in usage.drafts.items()},
        "tokens_run": usage.tokens_run,
        "in_vain": usage.in_vain,
        "widest": usage.widest,
        "prefill_s": round(usage.prefill_s, 6),
        "decode_s": round(usage.decode_s, 6),
        "compile_s": round(compile_s, 6),
    }


def session_counts(session: AnySession) -> dict[str, JsonValue]:
    """What the session itself counts. O(tokens)."""
    counted = session.report
    return {
        "exact": counted.exact,
        "near_limit": counted.near_limit,
        "tokens": session.num_tokens,
        "certain": counted.certain,
        "chosen": counted.chosen,
        "free": counted.free,
        "choice_points": counted.choice_points,
        **({} if counted.text_filter is None else {"text_filter": asdict(counted.text_filter)}),
    }


def written_counts(session: AnySession, vocabulary: Vocabulary, *, origins: bool) -> dict[str, JsonValue]:
    """``session_counts`` with what else is asked of a session that nobody writes any more. O(tokens).

    Beside them its ``text``, whether it is ``complete``, and where they are wanted its ``origins``.
    """
    told: dict[str, JsonValue] = {"origins": origins_of(session, vocabulary)} if origins else {}
    is_complete = session.state == "complete"
    return {**session_counts(session), "text": session.text, "complete": is_complete, **told}


def record_report(
    spec: Spec, record: JsonValue, certificates: Sequence[Mapping[str, JsonValue]]
) -> dict[str, JsonValue]:
    """What the relations say of a record, and what it reaches at each level of the objective.

    Args:
        spec: of the record.
        record: None where it is not complete.
        certificates: what is proven about each level (``certificate_json``).
    """
    if record is None:
        return {"relations": [], "objective": []}
    values = objective_values(spec, record)
    return {
        "relations": [_verdict(verdict) for verdict in check_spec(spec, record)],
        "objective": [
            {**certificate, "value": shown_value(value)}
            for certificate, value in zip(certificates, values, strict=True)
        ],
    }


def origins_of(session: AnySession, vocabulary: Vocabulary) -> list[JsonValue]:
    """Each token's text and origin; a character that is spread over tokens stands with the last of them."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pairs = zip(session.tokens, session.report.origins, strict=True)
    return [[decoder.decode(vocabulary.token_bytes(token_id)), origin] for token_id, origin in pairs]


def _verdict(verdict: Verdict) -> dict[str, JsonValue]:
    return {
        "name": verdict.name,
        "place": verdict.place,
        "outcome": verdict.outcome,
        "enforced": verdict.enforced,
        "why": verdict.why,
        "explanation": verdict.explanation or None,
    }
