"""YAML as data that knows its lines: what is read, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from pipelines.errors import CorrectTheSpec
from pipelines.spec import load
from pipelines.spec.yaml import MOST_BYTES, MOST_DEPTH, Located, parse_yaml, read_yaml
from tests.spec.conftest import SPEC, Read


def problems_in(text: str) -> tuple[str, ...]:
    with pytest.raises(CorrectTheSpec) as caught:
        parse_yaml(text, "a.yml")
    return caught.value.problems


def entries(located: Located) -> Mapping[str, Located]:
    assert isinstance(located.value, Mapping)
    return located.value


def test_every_key_and_item_knows_its_line() -> None:
    document = entries(parse_yaml("a: 1\nb:\n  c: [x,\n      y]\n  d: {e: 2}\n", "a.yml"))
    inner = entries(document["b"])
    items = inner["c"].value
    assert isinstance(items, tuple)
    assert [document["a"].line, document["b"].line, inner["c"].line, inner["d"].line] == [1, 2, 3, 5]
    assert [item.line for item in items] == [3, 4]


def test_plain_values_lose_their_lines() -> None:
    text = "a: [1, 2.5, true, null, x]\nb: {since: 2013-01-01}\n"
    assert parse_yaml(text, "a.yml").plain() == {
        "a": [1, 2.5, True, None, "x"],
        "b": {"since": date(2013, 1, 1)},
    }


def test_a_scalar_keeps_how_it_was_written() -> None:
    document = entries(parse_yaml("a: 1.10\nb: '010'\nc: 010\nd: True\n", "a.yml"))
    assert [located.written for located in document.values()] == ["1.10", "010", "010", "True"]


def test_keys_are_text_as_they_are_written() -> None:
    assert list(entries(parse_yaml("on: 1\n2: 1\nnull: 1\n", "a.yml"))) == ["on", "2", "null"]


def test_an_empty_text_is_nothing() -> None:
    assert parse_yaml("# only a remark\n", "a.yml").value is None


def test_every_key_that_stands_twice_is_told_with_both_lines() -> None:
    assert problems_in("a: 1\nb: {c: 1, d: 2,\n    c: 3}\na: 4\n") == (
        "line 3: `c` stands twice, first on line 2; keep one of them",
        "line 4: `a` stands twice, first on line 1; keep one of them",
    )


@pytest.mark.parametrize("text", ["a: &x 1\n", "a: &x {b: 1}\nc: *x\n", "a: {<<: *x}\n"])
def test_anchors_and_aliases_are_refused(text: str) -> None:
    assert all("anchors and aliases are not read here" in problem for problem in problems_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system [x]\n",
        "a: !!python/object:os.system {x: 1}\n",
        "a: !mine 1\n",
        "a: !!set {x}\n",
        "!!map {a: 1}\n",
    ],
)
def test_tags_are_refused(text: str) -> None:
    assert all("line 1: tags are not read here (found `!`)" in problem for problem in problems_in(text))


@pytest.mark.parametrize("mark", "!*&")
def test_a_password_that_begins_like_more_than_data_is_not_told(mark: str) -> None:
    (problem,) = problems_in(f"a: 1\npassword: {mark}hunter2\n")
    assert problem.startswith("line 2: ") and problem.endswith("put a value that begins so in quotes")
    assert "hunter2" not in problem


@pytest.mark.parametrize(
    "written",
    ["2013-02-30", "=", "2013-01-01 25:00:00", ":".join(["1"] * 400) + ".0", "1:30:00", "0x" + "f" * 5000],
)
def test_what_only_looks_like_a_value_of_yaml_s_is_a_text(written: str) -> None:
    located = parse_yaml(f"a: {written}\n", "here")
    assert located.plain() == {"a": written}


@pytest.mark.parametrize("text", ['a: "\\UFFFFFFFF"\n', f"%YAML {'9' * 5000}.1\n---\na: 1\n"])
def test_what_is_too_large_for_a_number_is_told_in_words(text: str) -> None:
    (problem,) = problems_in(text)
    assert problem.startswith("not YAML: found a number or an escape that is too large to be read")


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: [1\n", 2), ("a: 1\n\tb: 2\n", 2), ("a: 'x\n", 2), ("a: b: c\n", 1), ("a: 1\n? [x]\n: 2\n", 2)],
)
def test_what_is_no_yaml_is_told_with_its_line(text: str, line: int) -> None:
    assert problems_in(text)[0].startswith(f"line {line}: ")


def test_an_escape_that_no_text_knows_is_refused() -> None:
    assert problems_in('a: "\\UFFFFFFFF"\n')[0].startswith("not YAML: ")


@pytest.mark.parametrize("text", ['a: "x\\0"\n', 'a: ["\\ud800"]\n', '"\\0": 1\n'])
def test_a_character_that_no_file_takes_is_refused(text: str) -> None:
    (problem,) = problems_in(text)
    assert problem == "line 1: found a character that no text may have, NUL or half of one; leave it out"


@pytest.mark.parametrize("written", ["key: [city]", "path: data/rides", "where: 'fare > 0'"])
@pytest.mark.parametrize("character", ["\\ud800", "\\0"])
def test_nobody_stumbles_over_such_a_character_in_a_spec(written: str, character: str, read: Read) -> None:
    name = written.partition(":")[0]
    text = SPEC.replace("event_time: at", "event_time: at, where: 'fare > 0'")
    with pytest.raises(CorrectTheSpec) as caught:
        read((written, f'{name}: "a{character}"'), text=f'{text}expectations: "{character}"\n')
    told = [it for it in caught.value.problems if "NUL or half of one" in it]
    assert len(told) == 2 and all(it.startswith("line ") for it in caught.value.problems)


def test_a_control_is_told_with_its_line() -> None:
    told = "line 2: not YAML: found a control, U+0007; leave it out"
    assert problems_in("a: 1\nb: \a\n") == (told,)


def test_more_than_one_document_is_refused() -> None:
    assert "document" in problems_in("a: 1\n---\nb: 2\n")[0]


@pytest.mark.parametrize(
    ("depth", "is_read"), [(MOST_DEPTH - 1, True), (MOST_DEPTH, True), (MOST_DEPTH + 1, False)]
)
def test_what_is_nested_too_deep_is_refused(depth: int, is_read: bool) -> None:
    text = "[" * depth + "x" + "]" * depth
    if is_read:
        assert parse_yaml(text, "a.yml").line == 1
    else:
        assert problems_in(text) == (f"line 1: nested deeper than {MOST_DEPTH} levels",)


def test_depth_without_an_end_is_refused_and_no_crash() -> None:
    assert problems_in("[" * 900_000) == (f"line 1: nested deeper than {MOST_DEPTH} levels",)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a: 1\nb: \xff\n", "line 2: found a byte that is not UTF-8"),
        (b"a: " + b"x" * MOST_BYTES, "allowed are 1,000,000"),
        (b"a: \x07\n", "not YAML"),
    ],
)
def test_a_file_that_is_no_text_is_refused(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_bytes(content)
    with pytest.raises(CorrectTheSpec, match=told):
        read_yaml(path)


def test_a_device_that_has_no_end_is_not_read_to_it() -> None:
    with pytest.raises(CorrectTheSpec, match="is too long; allowed are 1,000,000 bytes"):
        read_yaml(Path("/dev/zero"))


@pytest.mark.parametrize("name", ["gone.yml", ".", "a" * 300])
def test_a_file_that_is_not_there_is_told_with_its_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(CorrectTheSpec, match="cannot be read") as caught:
        load(tmp_path / name)
    assert str(tmp_path) in str(caught.value)
