"""One case of the sizes benchmark, measured: compiled, decoded with a model without opinions, checked.

Times of compiling and opening are processor time of all threads, so that other processes do not count.
"""

import json
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter, process_time

import factorspec_sdk as fs
from factorspec_sdk.decoding import Decoder, Session
from factorspec_sdk.errors import JsonValue
from factorspec_sdk.graph.compile import CompiledSpec, compile_spec
from factorspec_sdk.tokens import Canonical
from factorspec_sdk.wire import parse_document
from factorspec_server.engines import Request, Sampling, generate_batch
from tests.benchmarks.natural_plan_model import UniformModel
from tests.benchmarks.natural_plan_summary import percentile
from tests.benchmarks.openings import time_openings
from tests.benchmarks.size_case import SizeCase
from tests.benchmarks.size_cp_sat import cp_sat_judge

Facts = dict[str, str | int | float | bool | list[str] | None]
#: a spec is compiled so many times for its compile time
COMPILES = 3


@dataclass(frozen=True)
class Decoded:
    """One record: what is wrong with it, its tokens, whether its masks and its tokens were exact."""

    text: str
    problems: Sequence[str]
    num_tokens: int
    exact: bool
    canonical: bool


def measure(case: SizeCase, canonical: Canonical, seed: int) -> Facts:
    """The figures of a case. Times are as this machine takes; see ``cal_ms`` of the report."""
    document = fs.document(case.model)
    compiles_ms: list[float] = []
    compiled, decoder = _compiled(document, canonical)
    for _ in range(COMPILES):
        started = process_time()
        compiled, decoder = _compiled(document, canonical)
        compiles_ms.append((process_time() - started) * 1e3)
    times = time_openings(decoder, process_time)
    started = perf_counter()
    decoded = [_decode(case, decoder, canonical, seed + n) for n in range(case.num_records)]
    wall_s = perf_counter() - started
    opens_us = [time_s * 1e6 for time_s in times]
    return {
        "case": case.name,
        "records": len(decoded),
        "valid": sum(not one.problems for one in decoded),
        "cp_sat": _passed(compiled, decoded),
        "exact": compiled.feasibility.exact and all(one.exact for one in decoded),
        "tiers": _tiers(compiled),
        "compile_ms": percentile(compiles_ms, 50),
        "openings": len(opens_us),
        "open_p50_us": percentile(opens_us, 50),
        "open_p99_us": percentile(opens_us, 99),
        "open_max_us": percentile(opens_us, 100),
        "bar_open_p99_us": case.open_p99_us,
        "memory_mb": _memory_mb(case, document, canonical, seed),
        "canonical_share": sum(one.canonical for one in decoded) / len(decoded),
        "tokens": sum(one.num_tokens for one in decoded),
        "wall_s": round(wall_s, 3),
        "failures": [problem for one in decoded for problem in one.problems][:20],
    }


def _passed(compiled: CompiledSpec, decoded: Sequence[Decoded]) -> int | None:
    """Records whose relations hold by CP-SAT; None where it cannot say."""
    judge = cp_sat_judge(compiled.spec)
    return None if judge is None else sum(judge(json.loads(one.text)) for one in decoded)


def _compiled(document: dict[str, JsonValue], canonical: Canonical) -> tuple[CompiledSpec, Decoder]:
    compiled = compile_spec(parse_document(document))
    vocabulary = canonical.vocabulary
    return compiled, Decoder(compiled.program, compiled.feasibility, vocabulary, canonical=canonical)


def _decode(case: SizeCase, decoder: Decoder, canonical: Canonical, seed: int) -> Decoded:
    session = decoder.session(case.token_limit)
    _run(session, canonical, seed, case.token_limit)
    problems = case.check(json.loads(session.text)) if session.state == "complete" else [session.state]
    return Decoded(
        session.text,
        [f"{case.name} seed {seed}: {problem}" for problem in problems],
        session.num_tokens,
        session.report.exact,
        session.tokens == canonical.vocabulary.encode(session.text),
    )


def _run(session: Session, canonical: Canonical, seed: int, token_limit: int) -> None:
    request = Request(
        prompt_ids=(0,),
        token_limit=token_limit,
        session=session,
        sampling=Sampling(temperature=1.0, seed=seed),
    )
    (completion,) = generate_batch(UniformModel(canonical.vocabulary), [request])
    if completion.error is not None:
        raise completion.error


def _tiers(compiled: CompiledSpec) -> list[str]:
    """What decides the components, each tier once."""
    return sorted({component.tier for component in compiled.feasibility.components})


def _memory_mb(case: SizeCase, document: dict[str, JsonValue], canonical: Canonical, seed: int) -> float:
    """Memory that a compiled spec holds after one record, in MB of Python objects and arrays."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    decoder = _compiled(document, canonical)[1]
    _decode(case, decoder, canonical, seed)
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return round(held / 1e6, 2)
