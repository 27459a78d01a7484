"""From what each request did to the figures of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from factorspec_server.engines import Usage
from tests.benchmarks.natural_plan_cases import Judgement

Facts = dict[str, str | int | float | list[str] | None]


@dataclass(frozen=True)
class Outcome:
    """One problem, decoded. Times in seconds; ``canonical`` is None for records that hold free text."""

    judgement: Judgement
    unique: bool
    usage: Usage
    wall_s: float
    canonical: bool | None = None
    compile_s: float | None = None
    open_s: Sequence[float] = field(default=())


def summarise(decoder: str, outcomes: Sequence[Outcome], drafting: str | None = None) -> Facts:
    """The figures of one decoder, and one way of drafting, over all its problems."""
    steps = sum(outcome.usage.model_steps for outcome in outcomes)
    tokens = sum(outcome.usage.tokens for outcome in outcomes)
    facts: Facts = {
        "decoder": decoder,
        "problems": len(outcomes),
        "valid": sum(not outcome.judgement.problems for outcome in outcomes),
        "matches_gold": sum(outcome.judgement.matches_gold for outcome in outcomes),
        "optimal": sum(outcome.judgement.optimal for outcome in outcomes),
        "unique": sum(outcome.unique for outcome in outcomes),
        "zero_choice": sum(outcome.usage.choice_points == 0 for outcome in outcomes),
        "model_steps": steps,
        "tokens": tokens,
        "wall_s": round(sum(outcome.wall_s for outcome in outcomes), 3),
        "decode_s": round(sum(outcome.usage.decode_s for outcome in outcomes), 3),
        "tokens_per_step": round(tokens / steps, 2) if steps else None,
        "failures": [problem for outcome in outcomes for problem in outcome.judgement.problems][:20],
    }
    if decoder != "factorspec":
        return facts
    return facts | _constraint_facts(outcomes) | _drafting_facts(outcomes, drafting)


def _drafting_facts(outcomes: Sequence[Outcome], drafting: str | None) -> Facts:
    usages = [outcome.usage for outcome in outcomes]
    tokens = sum(usage.tokens for usage in usages)
    decode_s = sum(usage.decode_s for usage in usages)
    return {
        "drafting": drafting,
        "decode_ms_per_token": round(decode_s * 1e3 / tokens, 3) if tokens else None,
        "guessed": sum(usage.guessed for usage in usages),
        "accepted": sum(usage.accepted for usage in usages),
        "tokens_run": sum(usage.tokens_run for usage in usages),
        "in_vain": sum(usage.in_vain for usage in usages),
        "widest": max((usage.widest for usage in usages), default=0),
    }


def _constraint_facts(outcomes: Sequence[Outcome]) -> Facts:
    judged = [outcome.canonical for outcome in outcomes if outcome.canonical is not None]
    opens_us = [time_s * 1e6 for outcome in outcomes for time_s in outcome.open_s]
    compiles_ms = [outcome.compile_s * 1e3 for outcome in outcomes if outcome.compile_s is not None]
    return {
        "choice_points": sum(outcome.usage.choice_points for outcome in outcomes),
        "canonical_share": sum(judged) / len(judged) if judged else None,
        "open_p50_us": percentile(opens_us, 50),
        "open_p99_us": percentile(opens_us, 99),
        "compile_p50_ms": percentile(compiles_ms, 50),
        "compile_p99_ms": percentile(compiles_ms, 99),
    }


def percentile(values: Sequence[float], percent: int) -> float | None:
    """The smallest value that at least ``percent`` of all do not exceed; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * percent // 100))
    return round(ordered[rank - 1], 3)
