"""LangChain: a chat model whose records and calls keep their relations, and a tool (extra ``langchain``).

::

    from typing import Annotated
    from pydantic import BaseModel, Field
    import factorspec_sdk as fs
    from factorspec_integrations.langchain import ChatFactorSpec

    @fs.sum_of("lines[*]", eq="total", name="adds up")
    class Bill(BaseModel):
        lines: Annotated[list[Annotated[int, Field(ge=1, le=50)]], Field(min_length=2, max_length=3)]
        total: Annotated[int, Field(ge=1, le=30)]

    llm = ChatFactorSpec(base_url="http://127.0.0.1:8000/v1")       # or ChatFactorSpec.local()
    print(llm.with_structured_output(Bill).invoke("A bill for soup and tea."))
"""

from factorspec_sdk.errors import MissingExtra

try:
    import langchain_core  # noqa: F401 - found missing here rather than in the middle of an import
except ModuleNotFoundError as error:
    raise MissingExtra("LangChain is not installed; run: pip install 'factorspec[langchain]'") from error

from factorspec_integrations.langchain.chat_model import ChatFactorSpec
from factorspec_integrations.langchain.record_tool import RecordTool

__all__ = ["ChatFactorSpec", "RecordTool"]
