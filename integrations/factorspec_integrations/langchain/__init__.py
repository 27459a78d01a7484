"""LangChain: a chat model, and a tool for agents (extra ``langchain``).

::

    from factorspec_integrations.langchain import ChatFactorSpec

    trip = ChatFactorSpec().with_structured_output(Trip).invoke("A trip, please.")
"""

from factorspec_sdk.errors import MissingExtra

try:
    import langchain_core  # noqa: F401 - found missing here rather than in the middle of an import
except ModuleNotFoundError as error:
    raise MissingExtra("LangChain is not installed; run: pip install 'factorspec[langchain]'") from error

from factorspec_integrations.langchain.chat_model import ChatFactorSpec
from factorspec_integrations.langchain.record_tool import RecordTool

__all__ = ["ChatFactorSpec", "RecordTool"]
