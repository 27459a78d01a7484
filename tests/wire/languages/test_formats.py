"""Formats of open values: every one of them, valid and invalid texts."""

import json
from pathlib import Path

import pytest

from factorspec_sdk.wire.languages.formats import OPEN_FORMATS, format_texts
from tests.conformance.json_schema_suite import FOLDER

TEXTS = {
    "date": (["2024-02-29"], ["2023-02-29", "2024-2-1"]),
    "duration": (["P1Y2M3DT4H5M6S", "PT1M", "P2W"], ["P", "P1YT", "PT1H6S", "P1W1D", "1Y"]),
    "ipv4": (["192.168.0.1"], ["256.1.1.1", "1.2.3", "01.2.3.4"]),
    "ipv6": (
        ["::", "::1", "1::2:3", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"],
        ["1", ":::", "1::2::3", "1:2:3:4:5:6:7:8:9"],
    ),
    "iri": (["http://ƒøø.ßår/?∂éœ"], ["//ƒøø", "http://a b"]),
    "iri-reference": (["//ƒøø", "âππ"], ["\\x"]),
    "json-pointer": (["", "/a~0b~1c", "/"], ["a", "/~", "/~2"]),
    "relative-json-pointer": (["0", "1/a", "2#"], ["", "01", "/a", "-1"]),
    "uri": (["http://a.b/c?d#e", "urn:a:b", "http://[::1]:80"], ["//a", "http://a b", "http://é"]),
    "uri-reference": (["//a", "../b", "#c", ""], ["\\\\a", "é"]),
    "uri-template": (["http://a/{b}{?c*,d:3}"], ["{", "{}", "a}"]),
    "uuid": (["2eb8aa08-AA98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380", "x"]),
}


def test_all_formats_are_tried() -> None:
    assert set(TEXTS) == OPEN_FORMATS


@pytest.mark.parametrize("name", sorted(OPEN_FORMATS))
def test_texts_of_a_format(name: str) -> None:
    found = format_texts(name)
    valid, invalid = TEXTS[name]
    assert [text for text in valid if not found.holds(text)] == []
    assert [text for text in invalid if found.holds(text)] == []


@pytest.mark.parametrize("name", sorted(OPEN_FORMATS))
def test_texts_of_the_suite(name: str, shared_dir: Path) -> None:
    file = shared_dir / FOLDER / "optional" / "format" / f"{name}.json"
    if not file.is_file():
        pytest.skip("the suite is not among the shared data")
    found = format_texts(name)
    for group in json.loads(file.read_text(encoding="utf-8")):
        for case in group["tests"]:
            if isinstance(case["data"], str):
                assert found.holds(case["data"]) is case["valid"], case
