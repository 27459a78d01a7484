"""What the command line says of options that have none of their values."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from factorspec_server.commands.app import app


@pytest.mark.parametrize("option", ["--device", "--dtype", "--drafting"])
def test_an_option_that_has_none_of_its_values_is_told_in_plain_words(option: str) -> None:
    told = CliRunner().invoke(app, ["serve", option, "foo"], env={"COLUMNS": "200"})
    assert told.exit_code == 2
    assert f"Invalid value for '{option}': 'foo' is not one of" in told.stderr
    assert "Value error" not in told.output
