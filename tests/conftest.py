"""Where tests find data that does not travel with the project, and which tests are left out where."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from factorspec_sdk import is_compiled

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shared",
        metavar="DIR",
        default=os.environ.get("FACTORSPEC_SHARED"),
        help="folder with shared data sets (default: $FACTORSPEC_SHARED, or `shared` beside the checkout)",
    )


def pytest_configure() -> None:
    """Let no example fail for the time that it took: tests run beside others."""
    settings.register_profile("untimed", settings(), deadline=None)
    settings.load_profile("untimed")


def pytest_sessionstart() -> None:
    """Refuse to test what was compiled from other sources."""
    compiled = {path.with_name(f"{path.name.split('.')[0]}.py"): path for path in _libraries()}
    stale = [source for source, path in compiled.items() if source.stat().st_mtime > path.stat().st_mtime]
    if is_compiled() and stale:
        raise pytest.UsageError(f"{stale[0].name} is newer than its compiled module: make compiled")


def _libraries() -> list[Path]:
    """The compiled modules beside the sources, if there are any."""
    folder = ROOT / "factorspec_sdk"
    return [
        path for path in folder.rglob("*.so") if path.with_name(f"{path.name.split('.')[0]}.py").is_file()
    ]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("FAST"):
        _leave_out(items, "slow", "slow, and FAST is set")
    if is_compiled():
        _leave_out(items, "sources", "the core is compiled")


def _leave_out(items: list[pytest.Item], keyword: str, reason: str) -> None:
    for item in items:
        if keyword in item.keywords:
            item.add_marker(pytest.mark.skip(reason=reason))


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
