"""Budgets of a wire document, checked before anything grows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a document may hold at most.

    document_bytes: UTF-8 bytes of the JSON text.
    depth: nesting of JSON values, and of sub-schemas through references.
    nodes: JSON objects and lists, rows of tables apart; also sub-schemas after references.
    enum_values: values of one ``enum``, and of a nullable range, which becomes one.
    table_rows: rows of all tables together.
    relations: relations of all objects together.
    expression_nodes: JSON objects in all relations and in the objective together.
    goals: levels of the objective.
    key_chars: characters of one key.
    text_chars: characters of one string, and the largest ``maxLength``.
    list_items: items of a list that we write ourselves; also the largest ``minItems``.
    related_items: items of a list that relations read.
    free_list_items: the largest ``maxItems``, of lists that the grammar library writes.
    pattern_states: size of a ``pattern`` with its repetitions written out.
    problems: problems listed in one error.
    """

    document_bytes: int = 1 << 20
    depth: int = 64
    nodes: int = 50_000
    enum_values: int = 20_000
    table_rows: int = 100_000
    relations: int = 2_000
    expression_nodes: int = 20_000
    goals: int = 16
    key_chars: int = 500
    text_chars: int = 100_000
    list_items: int = 10_000
    related_items: int = 1_000
    free_list_items: int = 2**31 - 1
    pattern_states: int = 2_000
    problems: int = 100


#: integers of a document fit into 64 bits, signed
MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**63 - 1
