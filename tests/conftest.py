"""Where tests find data that does not travel with the project, and which tests FAST=1 leaves out."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shared",
        metavar="DIR",
        default=os.environ.get("FACTORSPEC_SHARED"),
        help="folder with shared data sets (default: $FACTORSPEC_SHARED, or `shared` beside the checkout)",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("FAST"):
        leave_out = pytest.mark.skip(reason="slow, and FAST is set")
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(leave_out)


@pytest.fixture(scope="session")
def shared_dir(pytestconfig: pytest.Config) -> Path:
    """The folder with the shared data sets. One that was asked for must exist."""
    asked = pytestconfig.getoption("--shared")
    folder = Path(asked) if asked else ROOT.parent / "shared"
    if folder.is_dir():
        return folder
    if asked:
        raise pytest.UsageError(f"--shared or FACTORSPEC_SHARED names no folder: {asked!r}")
    pytest.skip("no shared data: pass --shared DIR or set FACTORSPEC_SHARED")
