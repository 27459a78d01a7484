"""The README's example runs as it stands, and stays short; so does the quickstart."""

import re
import subprocess
import sys
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import factorspec_sdk as fs
from tests.server.http.serving import serving
from tests.strangers.walking import prepared, written

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 20


def block(holding: str) -> str:
    """The one Python block of the README that holds a text."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (found,) = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if holding in code]
    return str(found)


def example() -> str:
    return block("with fs.Client.local()")


def run(script: Path) -> str:
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_is_short() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) <= MOST_LINES


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(300)
def test_the_example_writes_an_order_that_adds_up(tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(example(), encoding="utf-8")
    output = run(script)
    prices = [int(price) for price in re.findall(r"price=(\d+)", output)]
    (total,) = re.findall(r"total=(\d+)", output)
    assert len(prices) >= 2
    assert sum(prices) == int(total)


def test_the_openai_package_gets_an_order_from_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    declared, asked = example().split("with fs.Client.local()")[0], block("import json, openai")
    with serving() as server:
        asked = asked.replace("http://127.0.0.1:8000/v1", server.url).replace("smollm2", "scripted")
        exec(compile(declared + asked, "README.md", "exec"), {"__name__": "readme"})
    output = capsys.readouterr().out
    assert "lines=[Line(" in output
    assert "'name': 'adds up'" in output


@pytest.mark.parametrize(
    ("holding", "needs", "said"),
    [
        ("client.call_tools", "factorspec_sdk", "BookTrip city=|PlanMeeting start="),
        ("ChatFactorSpec(base_url", "langchain", r"lines=\[Line\("),
    ],
)
def test_tools_and_langchain_as_they_stand(
    holding: str, needs: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(needs)
    declared = example().split("with fs.Client.local()")[0] + "from typing import Literal\n"
    with serving() as server:
        asked = block(holding).replace("http://127.0.0.1:8000/v1", server.url)
        exec(compile(declared + asked, "README.md", "exec"), {"__name__": "readme"})
    assert re.search(said, capsys.readouterr().out)


def test_a_kind_of_ones_own_is_declared_and_checked() -> None:
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(example().split("class Today")[0] + block("fs.Bundle"), "README.md", "exec"), names)
    tree: Any = names["Tree"]
    vendor: Any = fs.document(tree)["x-factorspec"]
    assert [relation["kind"] for relation in vendor["relations"]] == ["permutation_of", "member_of"]
    tree(nodes=[{"id": 1, "parent": 0}, {"id": 0, "parent": None}])
    with pytest.raises(ValueError, match="graph: nodes"):
        tree(nodes=[{"id": 0, "parent": 1}])


def test_explanations_say_what_the_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    declared, asked = example().split("with fs.Client.local()")[0], block("fs.why_not")
    exec(compile(declared + asked, "README.md", "exec"), {"__name__": "readme"})
    output = capsys.readouterr().out
    assert output.startswith('lines[1].dish = "crème brûlée" is not allowed: ')
    assert "nearest valid record, 1 changed:\n  - lines[1].price: 4 becomes 3" in output


def test_a_budget_of_items_and_groups_adds_up_at_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("readme_budget")  # a later class is named: Pydantic looks for it in the module
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(example().split("class ")[0] + block("fs.max_depth"), "README.md", "exec"), vars(module))

    def check(group: Any) -> int:
        assert sum(part.cost for part in group.parts) == group.cost
        assert any(part.kind == "item" for part in group.parts)
        return 1 + max((check(part) for part in group.parts if part.kind == "group"), default=0)

    ready = prepared(vars(module)["Budget"])
    found = [ready.model.model_validate_json(written(ready, None, seed).text) for seed in range(6)]
    assert max(check(budget.year) for budget in found) == 3  # type: ignore[attr-defined]


def declared_beside_the_example(holding: str) -> dict[str, Any]:
    """What a block declares that takes its imports from the first one."""
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(example().split("class ")[0] + block(holding), "README.md", "exec"), names)
    return names


def drawn(model: Any) -> list[Any]:
    ready = prepared(model)
    return [ready.model.model_validate_json(written(ready, None, seed).text) for seed in range(4)]


def test_the_cheapest_order_is_the_only_one() -> None:
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(example().split("with fs.Client.local()")[0] + block("cheap ="), "README.md", "exec"), names)
    assert {(found.total, len(found.lines)) for found in drawn(names["cheap"])} == {(5, 2)}


def test_a_contradiction_names_what_the_readme_shows() -> None:
    names: dict[str, Any] = {"__name__": "readme"}
    declared = example().split("with fs.Client.local()")[0].replace('eq="total"', "eq=31")
    exec(compile(declared, "README.md", "exec"), names)
    found = fs.report(fs.bind(names["Order"], names["today"])).error
    assert str(found) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_amounts_are_rounded_half_up() -> None:
    bill = declared_beside_the_example("class Bill")["Bill"]
    bill(net="19.50", percent=7, vat="1.37", gross="20.87")  # 1.365
    with pytest.raises(ValueError, match="VAT to the cent"):
        bill(net="19.50", percent=7, vat="1.36", gross="20.86")
    for found in drawn(bill):
        exact = found.net * found.percent / 100
        assert found.vat == exact.quantize(Decimal("0.01"), ROUND_HALF_UP)
        assert found.gross == found.net + found.vat


def test_as_many_visits_as_possible_with_the_way_between_them() -> None:
    day = declared_beside_the_example("class Day")["Day"]
    for found in drawn(day):
        first, second = sorted(found.visits, key=lambda visit: (visit.start, visit.end))
        assert {first.client, second.client} == {"Meier", "Okafor"}
        gap = datetime.combine(date.min, second.start) - datetime.combine(date.min, first.end)
        assert gap >= timedelta(minutes=30)
        assert all(visit.end <= time(12) for visit in found.visits if visit.client == "Okafor")


def test_quotes_are_copied_and_reasons_exist() -> None:
    extract = declared_beside_the_example("class Extract")["extract"]
    for found in drawn(extract):
        ids = {claim.id for claim in found.claims}
        assert ids == set(range(1, len(found.claims) + 1))
        assert all(claim.quote in "Captain Lie said: we saw no ice." for claim in found.claims)
        assert all(claim.because is None or claim.because in ids for claim in found.claims)


def test_the_quickstart_says_what_its_comments_promise() -> None:
    output = run(ROOT / "examples" / "quickstart.py")
    promised = re.findall(r"# → (.*)", (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8"))
    assert promised
    assert [line for line in promised if line not in output] == []
