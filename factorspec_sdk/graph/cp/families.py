"""The table of encoders: one line for each family of nodes."""

from __future__ import annotations

from factorspec_sdk.graph.cp import (
    encode_division,
    encode_logic,
    encode_numbers,
    encode_schedules,
    encode_sequences,
    encode_tables,
)
from factorspec_sdk.graph.cp.encode_residuals import condition_by_residuals, value_by_residuals
from factorspec_sdk.graph.cp.encoder import Families

FAMILIES = Families(
    values=dict(
        (
            *encode_division.VALUES,
            *encode_logic.VALUES,
            *encode_numbers.VALUES,
            *encode_tables.VALUES,
        )
    ),
    conditions=dict(
        (
            *encode_logic.CONDITIONS,
            *encode_numbers.CONDITIONS,
            *encode_sequences.CONDITIONS,
            *encode_tables.CONDITIONS,
        )
    ),
    requirements=dict(
        (
            *encode_logic.REQUIREMENTS,
            *encode_numbers.REQUIREMENTS,
            *encode_schedules.REQUIREMENTS,
            *encode_sequences.REQUIREMENTS,
            *encode_tables.REQUIREMENTS,
        )
    ),
    any_value=value_by_residuals,
    any_condition=condition_by_residuals,
)
