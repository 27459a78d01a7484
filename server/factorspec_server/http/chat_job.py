"""One request on its way: what the engine runs for it, and what must be given back at its end."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field

from factorspec_sdk.errors import JsonValue
from factorspec_server.engines import Request
from factorspec_server.http.answer_maker import AnySession
from factorspec_server.http.chat_request import ChatRequest
from factorspec_server.http.enforced import Enforced
from factorspec_server.http.kept import KeptChoice


@dataclass(frozen=True, slots=True)
class ChoiceJob:
    """One of the answers to a request, ready for the engine.

    Attributes:
        request: what the engine runs.
        session: its session in this process.
        kept: the record, if it is kept elsewhere. An ordinary chat has neither.
    """

    request: Request
    session: AnySession | None = None
    kept: KeptChoice | None = None

    @property
    def is_chat(self) -> bool:
        """It is free text."""
        return self.session is None and self.kept is None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatJob:
    """One request, ready for the engine.

    Attributes:
        chat: what was asked.
        choices: the answers to write, at least one.
        enforced: what is enforced.
        id: of the completion.
        created: Unix time, in seconds.
    """

    chat: ChatRequest
    choices: tuple[ChoiceJob, ...]
    enforced: Enforced = Enforced()
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def requests(self) -> list[Request]:
        """What the engine runs."""
        return [choice.request for choice in self.choices]

    @property
    def spec_hash(self) -> str | None:
        """Hash of the response format's spec."""
        kept = self.choices[0].kept
        if kept is not None:
            return kept.session.spec_hash
        return None if self.enforced.record is None else self.enforced.record.spec.hash

    @property
    def compiles_s(self) -> list[float]:
        """Seconds of each spec that was compiled for this request."""
        kept = self.choices[0].kept
        here = [compiled.compile_s for compiled in self.enforced.fresh]
        return here if kept is None or kept.session.was_cached else [*here, kept.session.compile_s]

    def finish(self, index: int) -> None:
        """Gather what the report of one answer needs, once it is written. May wait for other processes.

        Raises:
            FactorspecError: they do not answer in time.
        """
        kept = self.choices[index].kept
        if kept is not None:
            kept.finish(origins=self.chat.factorspec.origins)

    def close(self) -> None:
        """Give back what is held elsewhere; nobody asks for the answers any more. Never waits."""
        for choice in self.choices:
            if choice.kept is not None:
                choice.kept.session.close()

    def echo(self) -> dict[str, JsonValue]:
        """What is enforced, by its hashes: the client compares them with its own."""
        tools: dict[str, JsonValue] = {
            name: compiled.spec.hash for name, compiled in self.enforced.tools.items()
        }
        return {"spec_hash": self.spec_hash, **({"tools": tools} if tools else {})}
