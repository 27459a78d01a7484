"""The LangChain example, with the embedded engine and its small model."""

import re

import pytest

from examples.langchain_agent import MENU, main


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(300)
def test_the_order_adds_up_and_the_tool_says_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    order, refused = capsys.readouterr().out.splitlines()[-2:]
    lines = dict(re.findall(r"Line\(dish='([^']+)', price=(\d+)\)", order))
    assert len(lines) >= 2
    assert all(int(price) == MENU[dish] for dish, price in lines.items())
    (total,) = re.findall(r"total=(\d+)", order)
    assert sum(map(int, lines.values())) == int(total) <= 10
    assert "'within the budget'" in refused
    assert "cannot hold together" in refused
