"""Explanations: why a value is not allowed, and which valid record is nearest to an invalid one."""

from __future__ import annotations

from factorspec_sdk.explaining.differences import Change
from factorspec_sdk.explaining.explanation import Explanation, explain
from factorspec_sdk.explaining.nearest_record import Nearest, nearest, nearest_of
from factorspec_sdk.explaining.ruled_out import WhyNot, why_not
from factorspec_sdk.explaining.spec_report import SpecReport, report

__all__ = [
    "Change",
    "Explanation",
    "Nearest",
    "SpecReport",
    "WhyNot",
    "explain",
    "nearest",
    "nearest_of",
    "report",
    "why_not",
]
