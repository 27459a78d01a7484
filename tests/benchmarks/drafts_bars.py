"""The bars of the drafts benchmark: what plans shall reach along records in which the model has a choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.benchmarks.drafts_runs import Facts, Width, best_ngram
from tests.benchmarks.masks_bars import Verdict

#: certain runs alone, without a width, beside the bound of one step for each choice and one more
OF_THE_BOUND = 0.95
#: branch trees beside certain runs alone, at this width
BRANCHES_TIMES, BRANCHES_WIDTH, BRANCHES_WORKLOAD = 1.3, 64, "trips_loose"
#: all that is drafted beside the best n-gram shape, on trips
NGRAM_TIMES = 1.9


def verdicts(runs: Sequence[Facts]) -> Iterator[Verdict]:
    """All bars for which the runs hold the figures."""
    known = {(run["workload"], run["drafter"], run["width"]): run for run in runs if run["has_choice"]}

    def rate(workload: str, drafter: str, width: Width) -> float:
        return float(known[workload, drafter, width]["tokens_per_step"] or 0.0)

    for workload in dict.fromkeys(str(run["workload"]) for run in runs if run["has_choice"]):
        bound = known[workload, "certain", None]["bound"]
        share = rate(workload, "certain", None) / float(bound or 1.0)
        yield Verdict(workload, "certain runs, unlimited / the bound", share, OF_THE_BOUND, at_least=True)
        if not workload.startswith("trips"):
            continue
        if workload == BRANCHES_WORKLOAD:
            gain = rate(workload, "branches", BRANCHES_WIDTH) / rate(workload, "certain", BRANCHES_WIDTH)
            what = f"branches / certain runs, width {BRANCHES_WIDTH}"
            yield Verdict(workload, what, gain, BRANCHES_TIMES, at_least=True)
        for width in filter(None, dict.fromkeys(run["width"] for run in runs)):
            assert isinstance(width, int)
            best = best_ngram((run for run in runs if run["workload"] == workload), width)
            if best is not None:
                times = rate(workload, "branches+text", width) / float(best["tokens_per_step"] or 1.0)
                what = f"branches+text / {best['drafter']}, width {width}"
                yield Verdict(workload, what, times, NGRAM_TIMES, at_least=True)
