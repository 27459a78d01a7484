"""An agent that takes orders: what it gives in the end adds up, and a tool says why an order cannot be.

Run it: ``python examples/langchain_agent.py``. It needs the extras ``engine`` and ``langchain``, and the
package ``langchain``; the embedded engine answers, with a small model.
"""

from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.tools import tool
from pydantic import BaseModel, Field

import factorspec_sdk as fs
from factorspec_integrations import with_relations
from factorspec_integrations.langchain import ChatFactorSpec, RecordTool

MENU = {"soup": 7, "bread": 2, "crème brûlée": 6, "tea": 3}


class Wish(BaseModel):
    """What the guest says, and what the kitchen has."""

    budget: Annotated[int, Field(ge=1, le=100)]
    menu: dict[str, int] = MENU


class Line(BaseModel):
    """One dish."""

    dish: Annotated[str, fs.In("menu")]
    price: Annotated[int, Field(ge=1, le=50)]


@fs.all_different("lines[*].dish", name="each dish once")
@fs.sum_of("lines[*].price", eq="total", name="adds up")
class Order(BaseModel):
    """An order within the guest's budget."""

    lines: Annotated[list[Line], Field(min_length=2, max_length=3)]
    total: Annotated[int, Field(ge=1, le=100)]

    @fs.relation("prices as on the menu")
    def prices(self, given: Wish) -> bool:
        """Nothing is dearer or cheaper than the menu says."""
        return fs.every(line.price == given.menu[line.dish] for line in self.lines)

    @fs.relation("within the budget")
    def cheap(self, given: Wish) -> bool:
        """The guest pays no more."""
        return self.total <= given.budget


@tool
def opening_hours(day: str) -> str:
    """When the kitchen is open."""
    return f"{day}: from 11 to 22"


@wrap_model_call
def one_look(request: Any, handler: Any) -> Any:
    """A small model would look for ever: once a tool has answered, the order is due."""
    has_looked = any(message.type == "tool" for message in request.messages)
    return handler(request.override(tools=[]) if has_looked else request)


def main(llm: ChatFactorSpec) -> None:
    """Let the agent order for ten, then ask for what cannot be."""
    order = with_relations(fs.bind(Order, Wish(budget=10)))
    agent: Any = create_agent(llm, [opening_hours], response_format=order, middleware=[one_look])
    found = agent.invoke({"messages": [("user", "Something warm for at most ten, please.")]})
    print(found["structured_response"])

    writer = RecordTool.of(Order, llm, parameters=Wish)
    call = {"type": "tool_call", "id": "1", "name": "Order", "args": {"request": "Two dishes", "budget": 4}}
    print(writer.invoke(call).content)


if __name__ == "__main__":
    main(ChatFactorSpec.local())
