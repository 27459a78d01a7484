"""Invoices of 30 lines with three VAT rates, totals after or before the lines: the models and the check."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

import factorspec_sdk as fs

NUM_LINES = 30
RATES = {"none": 0, "reduced": 7, "standard": 19}

Cents = Annotated[int, Field(ge=0, le=10**12)]
Rate = Literal["none", "reduced", "standard"]


class Given(BaseModel):
    """The table of VAT rates in percent."""

    rates: dict[str, int]


class Line(BaseModel):
    """What was sold. Amounts are cents."""

    quantity: Annotated[int, Field(ge=1, le=999)]
    unit_price: Annotated[int, Field(ge=1, le=1_000_000)]
    rate: Rate
    net: Cents

    @fs.relation("net is quantity times price")
    def multiplied(self) -> bool:
        """A line's net."""
        return self.net == self.quantity * self.unit_price


class Tax(BaseModel):
    """Net and tax of the lines of one rate."""

    rate: Rate
    percent: Annotated[int, Field(ge=0, le=100)]
    net: Cents
    vat: Cents

    @fs.relation("percent from the table")
    def from_table(self, given: Given) -> bool:
        """As agreed."""
        return self.percent == given.rates[self.rate]

    @fs.relation("tax is rounded half-up for each rate")
    def taxed(self) -> bool:
        """Commercial rounding of the sum, not of each line."""
        return self.vat == fs.quotient(self.net * self.percent, 100, mode="half_up")


Lines = Annotated[list[Line], Field(min_length=NUM_LINES, max_length=NUM_LINES)]
Taxes = Annotated[list[Tax], Field(min_length=len(RATES), max_length=len(RATES))]


class Invoice(BaseModel):
    """What lines, taxes and totals have to do with each other."""

    lines: Lines
    taxes: Taxes
    net: Cents
    vat: Cents
    total: Cents

    @fs.relation("one row of taxes for each rate")
    def each_rate(self) -> bool:
        """In the order of the table."""
        return fs.both(
            self.taxes[0].rate == "none", self.taxes[1].rate == "reduced", self.taxes[2].rate == "standard"
        )

    @fs.relation("net for each rate")
    def nets(self) -> bool:
        """The sum of the lines of the rate."""
        return fs.both(
            self.taxes[0].net == fs.total(fs.only(s.net, where=s.rate == "none") for s in self.lines),
            self.taxes[1].net == fs.total(fs.only(s.net, where=s.rate == "reduced") for s in self.lines),
            self.taxes[2].net == fs.total(fs.only(s.net, where=s.rate == "standard") for s in self.lines),
        )

    @fs.relation("totals add up")
    def totals(self) -> bool:
        """Over the rates."""
        return fs.both(
            self.net == fs.total(t.net for t in self.taxes),
            self.vat == fs.total(t.vat for t in self.taxes),
            self.total == self.net + self.vat,
        )


class Head(BaseModel):
    """Stands before the lines."""

    taxes: Taxes
    net: Cents
    vat: Cents
    total: Cents


class TotalsFirst(Invoice, Head):
    """The same, totals before lines: fields are written in the order of the bases, last one first."""


def given() -> Given:
    """The table."""
    return Given(rates=RATES)


def check(record: Any) -> list[str]:
    """What is wrong with an invoice; shares no code with the project."""
    problems = [] if len(record["lines"]) == NUM_LINES else [f"{len(record['lines'])} lines"]
    for at, line in enumerate(record["lines"]):
        quantity, price = line["quantity"], line["unit_price"]
        if not (1 <= quantity <= 999 and 1 <= price <= 1_000_000 and line["rate"] in RATES):
            problems.append(f"line {at}: out of range")
        if line["net"] != quantity * price:
            problems.append(f"line {at}: {line['net']} is not {quantity} x {price}")
    if [tax["rate"] for tax in record["taxes"]] != list(RATES):
        problems.append("the rows of taxes are not those of the rates")
    for tax in record["taxes"]:
        net = sum(line["net"] for line in record["lines"] if line["rate"] == tax["rate"])
        exact = Decimal(net) * RATES[tax["rate"]] / 100
        vat = int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP))
        if (tax["percent"], tax["net"], tax["vat"]) != (RATES[tax["rate"]], net, vat):
            problems.append(f"{tax['rate']}: {tax} but the lines give {net} and {vat}")
    for name, part in (("net", "net"), ("vat", "vat")):
        if record[name] != sum(tax[part] for tax in record["taxes"]):
            problems.append(f"{name} does not add up")
    if record["total"] != record["net"] + record["vat"]:
        problems.append("total does not add up")
    return problems
