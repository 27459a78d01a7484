"""Explanations: why a value is not allowed, and which valid record is nearest to an invalid one."""

from __future__ import annotations

from factorspec_sdk.explaining.differences import Change
from factorspec_sdk.explaining.explanation import Explanation, explain
from factorspec_sdk.explaining.nearest_record import Nearest, nearest
from factorspec_sdk.explaining.ruled_out import WhyNot, why_not

__all__ = ["Change", "Explanation", "Nearest", "WhyNot", "explain", "nearest", "why_not"]
