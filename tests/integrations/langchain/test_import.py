"""Without LangChain installed, the import says what to install."""

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["langchain_core"] = None
import factorspec_integrations.langchain
"""


def test_a_missing_extra_names_the_command() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "MissingExtra" in done.stderr
    assert "pip install 'factorspec[langchain]'" in done.stderr
