"""YAML that knows its lines, and no more of YAML than data needs.

Every key and value is told with the line that it stands on; a key that stands twice, a tag or an alias is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

import yaml
from yaml import tokens
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pipelines.errors import CorrectTheSpec

MOST_BYTES = 1_000_000
MOST_DEPTH = 30
MOST_BITS = 256
"""Of a number: more than any value of a spec needs, and far from the 4,300 digits that Python writes."""
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
NO_TEXT = re.compile(r"[\0\ud800-\udfff]")
"""What escapes can make and no file or table takes: an end of text, and halves of a character."""

_OPENING = (
    tokens.BlockMappingStartToken
    | tokens.BlockSequenceStartToken
    | tokens.FlowMappingStartToken
    | tokens.FlowSequenceStartToken
)
_CLOSING = tokens.BlockEndToken | tokens.FlowMappingEndToken | tokens.FlowSequenceEndToken
# What follows the mark is not told: a password that nobody has quoted may begin with one.
_MORE_THAN_DATA = {
    tokens.AnchorToken: "anchors and aliases are not read here (found `&`); leave it out",
    tokens.AliasToken: "anchors and aliases are not read here (found `*`); write it out",
    tokens.TagToken: "tags are not read here (found `!`); leave it out",
}

Refuse = Callable[[int, str], None]
"""Takes a line and what is wrong on it."""

Plain = str | int | float | bool | date | datetime | None


@dataclass(frozen=True, slots=True)
class Located:
    """A value and the line that it begins on, counted from 1.

    Lists and mappings hold located values in turn. `written` is a scalar as it stands in the file: where text
    is wanted, `1.10` is not 1.1.
    """

    value: Plain | tuple[Located, ...] | Mapping[str, Located]
    line: int
    written: str = ""

    def plain(self) -> object:
        """The value without lines: lists, dicts and scalars."""
        if isinstance(self.value, tuple):
            return [item.plain() for item in self.value]
        if isinstance(self.value, Mapping):
            return {name: item.plain() for name, item in self.value.items()}
        return self.value


def read_yaml(path: Path, *, refuse: Refuse | None = None) -> Located:
    """The document in a file. Raises `CorrectTheSpec` where it cannot be read as data.

    Keys that stand twice are handed to `refuse` where there is one, and the first of them stands.
    """
    try:
        with path.open("rb") as file:
            # Not to its end, which a device does not have.
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise CorrectTheSpec(str(path), (f"cannot be read: {error.strerror}; name a YAML file",)) from error
    if len(raw) > MOST_BYTES:
        raise CorrectTheSpec(str(path), (f"is too long; allowed are {MOST_BYTES:,} bytes",))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problem = f"line {line}: found a byte that is not UTF-8; allowed is text in UTF-8"
        raise CorrectTheSpec(str(path), (problem,)) from error
    return parse_yaml(text, str(path), refuse=refuse)


def parse_yaml(text: str, where: str, *, refuse: Refuse | None = None) -> Located:
    """The document in a text; `where` names it in errors. `refuse` as in `read_yaml`."""
    try:
        _refuse_more_than_data(text, where)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            return Located(None, 1)
        reader = _Reader(where)
        located = reader.read(node, 0)
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        raise CorrectTheSpec(where, (_told(error, text),)) from error
    if refuse is not None:
        for line, problem in reader.problems:
            refuse(line, problem)
    elif reader.problems:
        raise CorrectTheSpec(where, tuple(f"line {line}: {problem}" for line, problem in reader.problems))
    return located


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes values of nodes. Keys that stand twice are kept for the end, so that all are told."""

    where: str
    problems: list[tuple[int, str]] = field(default_factory=list)

    def read(self, node: Node, depth: int) -> Located:
        line = node.start_mark.line + 1
        if depth > MOST_DEPTH:
            raise CorrectTheSpec(self.where, (f"line {line}: nested deeper than {MOST_DEPTH} levels",))
        if isinstance(node, MappingNode):
            return Located(self._mapping(node, depth), line)
        if isinstance(node, SequenceNode):
            return Located(tuple(self.read(item, depth + 1) for item in node.value), line)
        self._look_at(node)
        if NO_TEXT.search(node.value):
            # Whoever looks at it further is not to stumble over it.
            told = NO_TEXT.sub("\ufffd", node.value)
            return Located(told, line, told)
        return Located(_scalar(node), line, node.value)

    def _look_at(self, node: Node) -> None:
        if NO_TEXT.search(node.value):
            line = node.start_mark.line + 1
            self.problems.append(
                (line, "found a character that no text may have, NUL or half of one; leave it out")
            )

    def _mapping(self, node: MappingNode, depth: int) -> dict[str, Located]:
        found: dict[str, Located] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                self.problems.append((line, "a key is a plain word; found a list or a mapping"))
                continue
            self._look_at(key)
            if key.value in found:
                first = found[key.value].line
                problem = f"`{as_key(key.value)}` stands twice, first on line {first}; keep one of them"
                self.problems.append((line, problem))
            else:
                item = self.read(value, depth + 1)
                found[key.value] = Located(item.value, line, item.written)
        return found


def as_key(written: str) -> str:
    """A key as it may be told: where a colon or the blank behind it was forgotten, what was to be its value
    stands in it, a password perhaps.
    """
    found = re.search(r"[\s:=]", written)
    return written if found is None else f"{written[: found.end()]}…"


def _scalar(node: Node) -> Plain:
    if node.tag in NUMBERS and (":" in node.value or len(node.value) > MOST_BITS):
        # Digits to the base of sixty, which YAML has given up, or more of them than a number of ours has.
        return str(node.value)
    try:
        value = yaml.SafeLoader("").construct_object(node)
    except (ValueError, OverflowError, yaml.constructor.ConstructorError):
        # It looks like a date that no calendar has, or like a sign of YAML's: refused where it stands.
        return str(node.value)
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return str(node.value)
    if value is None or isinstance(value, str | int | float | bool | date | datetime):
        return value
    raise yaml.constructor.ConstructorError(
        None, None, f"{type(value).__name__} is not data here", node.start_mark
    )


def _refuse_more_than_data(text: str, where: str) -> None:
    """Looks at tokens before any node is made: the scanner's own work grows with the square of the depth."""
    problems = []
    depth = 0
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        line = token.start_mark.line + 1
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > MOST_DEPTH:
            raise CorrectTheSpec(where, (f"line {line}: nested deeper than {MOST_DEPTH} levels",))
        if type(token) in _MORE_THAN_DATA:
            problems.append(
                f"line {line}: {_MORE_THAN_DATA[type(token)]}, or put a value that begins so in quotes"
            )
    if problems:
        raise CorrectTheSpec(where, tuple(problems))


def _told(error: Exception, text: str) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"line {line}: not YAML: found a control, U+{error.character:04X}; leave it out"
    mark = getattr(error, "problem_mark", None)
    if mark is None and isinstance(error, ValueError | OverflowError):
        return "not YAML: found a number or an escape that is too large to be read; shorten it"
    what = getattr(error, "problem", None) or str(error).strip().splitlines()[0]
    return f"line {mark.line + 1}: not YAML: {what}" if mark is not None else f"not YAML: {what}"
