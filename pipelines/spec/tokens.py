"""A Spark SQL expression cut into tokens, as Spark's own lexer cuts it; blanks and comments are left out.

What Spark's lexer would not know is refused, never guessed: what Spark reads as code never passes here as
text.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Literal

Kind = Literal["word", "quoted", "text", "number", "mark"]

PATTERNS: tuple[tuple[Kind, str], ...] = (
    ("text", r"[rR]'[^']*'" + r'|[rR]"[^"]*"'),
    ("text", r"'(?:[^'\\]|\\.|'')*'" + r'|"(?:[^"\\]|\\.|"")*"'),
    ("quoted", r"`(?:[^`]|``)*`"),
    ("number", r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?:BD|[LSYFD])?(?!\w)"),
    ("word", r"\w+"),
    ("mark", r"<=>|->|=>|::|\|\||>>>|>>|<<|<>|<=|>=|!=|!>|!<|==|\|>|[-+*/%&|^~=<>!()\[\],.:?@]"),
)
TOKEN = re.compile(
    "|".join(f"(?P<{kind}{at}>{pattern})" for at, (kind, pattern) in enumerate(PATTERNS)),
    re.DOTALL | re.IGNORECASE,
)
ESCAPE = re.compile(r"\\(?:[uU]([0-9a-fA-F]{8}|[0-9a-fA-F]{4})|([0-3][0-7]{2})|(.))", re.DOTALL)
CONTROLS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
BLANK = re.compile(r"\s+")
LINE_COMMENT = re.compile(r"--(?:\\\n|[^\r\n])*")
COMMENT_MARK = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Token:
    """One token as it was written."""

    kind: Kind
    written: str

    @property
    def name(self) -> str:
        """The name that a word or a quoted name means, in lower case; else nothing."""
        if self.kind == "word":
            return fold(self.written)
        return fold(self.written[1:-1].replace("``", "`")) if self.kind == "quoted" else ""

    @property
    def meaning(self) -> str:
        """What a text says once its escapes are read as Spark reads them."""
        if self.written[:1] in "rR":
            return self.written[2:-1]
        quote = self.written[:1]
        return ESCAPE.sub(_unescaped, self.written[1:-1].replace(2 * quote, quote))

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words, without quotes."""
        return self.kind == "word" and self.name in words

    def is_mark(self, *marks: str) -> bool:
        return self.kind == "mark" and self.written in marks


def _unescaped(found: re.Match[str]) -> str:
    code, octal, other = found.groups()
    if code or octal:
        number = int(code, 16) if code else int(octal, 8)
        return chr(number) if number <= sys.maxunicode else ""
    return CONTROLS.get(other, other)


def fold(name: str) -> str:
    """One form for what Spark takes for one name: it compares keywords in upper case, functions in lower."""
    return name.upper().lower()


def tokens_of(sql: str) -> tuple[Token, ...]:
    """The tokens of an expression. Raises `ValueError` with what was found where it cannot be cut."""
    tokens: list[Token] = []
    position = 0
    while (position := _after_blanks(sql, position)) < len(sql):
        found = TOKEN.match(sql, position)
        if found is None or not found[0]:
            raise ValueError(_unknown(sql[position]))
        kind = PATTERNS[int(str(found.lastgroup)[-1])][0]
        tokens.append(Token(kind, found[0]))
        position = found.end()
    return tuple(tokens)


def _after_blanks(sql: str, position: int) -> int:
    """The position after all blanks and comments."""
    while position < len(sql):
        blank = BLANK.match(sql, position) or LINE_COMMENT.match(sql, position)
        if blank is not None:
            position = blank.end()
        elif sql.startswith("/*", position):
            position = _after_comment(sql, position)
        else:
            break
    return position


def _after_comment(sql: str, start: int) -> int:
    """The position after a comment, which may hold others."""
    depth = 0
    for mark in COMMENT_MARK.finditer(sql, start):
        # Spark counts no hint as the beginning of a comment, so one inside a comment would end it early.
        if sql.startswith("/*+", mark.start()):
            raise ValueError("found a hint `/*+`; allowed are comments without a plus")
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    raise ValueError("found a comment without an end; allowed is one that ends with `*/`")


def _unknown(character: str) -> str:
    if character in "'\"`":
        return f"found a quote {character} without its partner; allowed is text between two of them"
    if character == ";":
        return "found `;`; allowed is one expression"
    return f"found the character {character!r}, which SQL does not know"
