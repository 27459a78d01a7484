"""A tool for agents: it gives a record that is valid, or says which relations make that impossible."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, Field, ValidationError, create_model

from factorspec_integrations.langchain.chat_model import ChatFactorSpec
from factorspec_sdk.errors import (
    BindingError,
    DeclarationError,
    InfeasibleError,
    Problem,
    RecordError,
    Unsatisfiable,
    shown,
)
from factorspec_sdk.records import bind
from factorspec_sdk.records.shapes import keys_of

#: what an agent can do something about; all else is for whoever runs it
_TOLD = (InfeasibleError, BindingError, RecordError)


class RecordTool(BaseTool):
    """Writes a record; make it with ``RecordTool.of``.

    The agent says in ``request`` what the record is for, and gives the parameters that its relations need.
    The answer is its JSON; the record itself is the message's ``artifact``. Where no record can satisfy the
    parameters, the answer is an error that names the relations in conflict, so that the agent can change
    them.

    Attributes:
        llm: writes the record.
        record: its model.
        parameters: the model of what is bound to it; None where it has no parameters.
        wishes: as ``with_structured_output`` takes them.
    """

    llm: ChatFactorSpec
    record: type[BaseModel]
    parameters: type[BaseModel] | None = None
    wishes: dict[str, Any] = Field(default_factory=dict)
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool = True

    @classmethod
    def of(
        cls,
        record: type[BaseModel],
        llm: ChatFactorSpec,
        *,
        parameters: type[BaseModel] | None = None,
        name: str | None = None,
        description: str | None = None,
        **wishes: Any,
    ) -> RecordTool:
        """The tool for a model.

        Args:
            record: a Pydantic model; bound if it has parameters that the agent shall not give.
            llm: writes the record.
            parameters: the model of the parameters that the agent gives, such as the type of a ``@relation``
                method's parameter. Its own relations and domains hold for the agent's call.
            name: of the tool; None takes the model's.
            description: tells the agent when to call it; None takes the model's docstring.
            wishes: as ``with_structured_output`` takes them.

        Raises:
            DeclarationError: the model cannot be sent (one with parameters is looked at when it is called),
                or a parameter has an alias.
        """
        if parameters is None:
            llm.with_structured_output(record, **wishes)
        else:
            _refuse_aliases(parameters)
        asked = (str, Field(description="what the record is for, and all that matters for its values"))
        arguments: Any = create_model(f"{record.__name__}Request", __base__=parameters, request=asked)
        return cls(
            name=name or record.__name__,
            description=description or record.__doc__ or f"Writes a valid {record.__name__}.",
            args_schema=arguments,
            handle_validation_error=_told,
            llm=llm,
            record=record,
            parameters=parameters,
            wishes=wishes,
        )

    def _run(
        self,
        *,
        request: str,
        config: RunnableConfig,
        run_manager: CallbackManagerForToolRun | None = None,
        **given: Any,
    ) -> tuple[str, BaseModel]:
        try:
            return _answer(self._asked(given).invoke(request, config))
        except _TOLD as error:
            raise ToolException(self._words(error)) from error

    async def _arun(
        self,
        *,
        request: str,
        config: RunnableConfig,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
        **given: Any,
    ) -> tuple[str, BaseModel]:
        try:
            return _answer(await self._asked(given).ainvoke(request, config))
        except _TOLD as error:
            raise ToolException(self._words(error)) from error

    def _asked(self, given: dict[str, Any]) -> Runnable[Any, Any]:
        model = self.record
        if self.parameters is not None:
            model = bind(model, self.parameters.model_validate(given))
        return self.llm.with_structured_output(model, **self.wishes)

    def _words(self, error: InfeasibleError | BindingError | RecordError) -> str:
        """What the agent reads."""
        if isinstance(error, Unsatisfiable) and error.conflict:
            names = ", ".join(map(repr, error.conflict))
            return f"There is no such {self.record.__name__}: {names} cannot hold together here. {error}"
        return f"There is no such {self.record.__name__}. {error}"


def _refuse_aliases(parameters: type[BaseModel]) -> None:
    problems = [
        Problem(name, "LangChain gives tools their arguments by name", shown(key), "drop the alias")
        for name, key in keys_of(parameters).items()
        if name != key
    ]
    if problems:
        raise DeclarationError(f"{parameters.__name__} cannot be given by an agent", problems)


def _answer(record: BaseModel) -> tuple[str, BaseModel]:
    return record.model_dump_json(by_alias=True), record


def _told(error: ValidationError | Any) -> str:
    """What the agent reads about arguments that are none."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in problems]
    return "The arguments cannot be used: " + "; ".join(lines)
