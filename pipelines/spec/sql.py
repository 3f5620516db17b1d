"""What SQL in a spec may be: one expression over the row that gives the same whenever it is computed.

Subqueries, functions that change by themselves, that reach outside or that look at other rows are refused,
however they are written. A column that has such a name stands in backquotes. A second wall stands in ingest,
which asks Spark whether an expression is deterministic.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile

from pipelines.spec.functions import ONLY_WITHOUT_ARGUMENTS, WHY, WITHOUT_OPTIONS, WITHOUT_PARENTHESES
from pipelines.spec.tokens import Token, fold, tokens_of

NOTHING = Token("mark", "")
PARTNERS = {")": "(", "]": "["}
PATTERN_WORDS = ("like", "ilike", "rlike", "regexp")
QUANTIFIERS = ("any", "all", "some")
OPERATOR_WORDS = ("is", "in", "not", "between", "and", "or", "div", "as", "collate", *PATTERN_WORDS)
CLOCK_WORD = re.compile(r"(now|today|tomorrow|yesterday)(\s*[+-]\d\S*|\s+\S+)?")
"""Text that Spark reads as an instant of the clock wherever it makes a time of text.

One that functions make of other texts (`concat('no', 'w')`) is not known here: what Spark's optimizer makes
of it tells nobody, and the casts that read it need not be written.
"""

TIME_ALONE = re.compile(r"t?\d{1,2}:")
INSTANTS = ("timestamp", "timestamp_ltz")
MAKE_INSTANTS = ("to_timestamp", "to_timestamp_ltz", "try_to_timestamp", *INSTANTS)
OPEN_TYPES = ("array", "map", "struct")
NOTHING_OF_A_TIME = "".join(map(chr, range(ord(" ") + 1)))
"""What Spark takes off both ends of a text before it makes a time of it."""

MOST_NESTED = 100
"""How deep an expression may be nested. Spark's parser goes down once for each level: at thousands it takes
minutes, and ends with its stack."""

MOST_SHOWN = 500

ROW = "allowed is an expression over the row"


@dataclass(frozen=True, slots=True)
class Place:
    """A token among its neighbours."""

    tokens: tuple[Token, ...]
    index: int

    def near(self, distance: int) -> Token:
        """The token so far after it (before it, if negative)."""
        index = self.index + distance
        return self.tokens[index] if 0 <= index < len(self.tokens) else NOTHING

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def is_field(self) -> bool:
        """Whether it is one name of several with dots between them."""
        return self.near(-1).is_mark(".") or self.near(1).is_mark(".")

    @property
    def is_first(self) -> bool:
        """Whether it stands where a query could begin."""
        before = self.near(-1)
        return before is NOTHING or (before.is_mark("(") and not self.near(-2).is_word("trim"))


def problems_of(sql: str, *, may_be_columns: Collection[str] = ()) -> tuple[str, ...]:
    """What is refused in an expression, each as `found …; allowed …`; nothing where it is fine.

    `may_be_columns` are functions called without parentheses that pass: somebody asks
    `taken_for_functions` about them, who knows the columns.
    """
    try:
        tokens = tokens_of(sql)
    except ValueError as error:
        return (str(error),)
    if not tokens:
        return ("found no SQL; allowed is an expression over the row",)
    too_deep = [*_too_deep(tokens)]
    # Of one that is not deep each place is looked at by few calls around it.
    places = [] if too_deep else [Place(tokens, index) for index in range(len(tokens))]
    told = (problem for place in places for problem in _problems(place, may_be_columns))
    return tuple(dict.fromkeys([*_unbalanced(tokens), *too_deep, *told]))


def taken_for_functions(sql: str, columns: Collection[str]) -> tuple[str, ...]:
    """The names in an expression that Spark takes for functions, as none of the columns is so called.

    Backquotes do not keep it from that.
    """
    known = {fold(name) for name in columns}
    places = [Place(tokens, index) for tokens in [tokens_of(sql)] for index in range(len(tokens))]
    return tuple(
        dict.fromkeys(
            place.token.name for place in places if _is_bare(place) and place.token.name not in known
        )
    )


def shown(sql: str) -> str:
    """An expression as a message shows it: of a long one the beginning."""
    return sql if len(sql) <= MOST_SHOWN else f"{sql[:MOST_SHOWN]}…"


def names_in(sql: str) -> frozenset[str]:
    """All that stands in an expression like a name, folded: columns, fields, functions and keywords."""
    return frozenset(token.name for token in tokens_of(sql) if token.kind in ("word", "quoted"))


def _is_bare(place: Place) -> bool:
    """Whether it is a function without parentheses, or a column of that name; no field, and no alias."""
    is_elsewhere = place.is_field or place.near(-1).is_word("as") or place.near(1).is_mark("(", ":")
    return place.token.name in WITHOUT_PARENTHESES and not is_elsewhere


def _problems(place: Place, may_be_columns: Collection[str]) -> Iterator[str]:
    token = place.token
    if token.kind in ("word", "quoted"):
        if token.name not in may_be_columns or place.near(1).is_mark("("):
            yield from _call(place)
        if not place.is_field:
            yield from _query(place)
    elif token.kind == "text":
        yield from _clock_word(place)
    else:
        yield from _mark(place)


def _query(place: Place) -> Iterator[str]:
    """Every query begins with one of these words; most of them may be something else elsewhere."""
    token, after = place.token, place.near(1)
    named = after.kind in ("word", "quoted") and not after.is_word(*OPERATOR_WORDS)
    reads = named or (token.is_word("from") and after.is_mark("("))
    begins = token.is_word("with", "table", "from") and place.is_first and reads
    if token.is_word("select", "values") or begins or (token.is_word("using") and after.kind == "text"):
        yield f"found `{token.written}`; {ROW}: no subqueries ({_as_column(token)})"
    if token.is_word("over") and (place.near(-1).is_mark(")") or place.near(-1).is_word("nulls")):
        yield f"found `{token.written}`, which looks at other rows; {ROW}"


def _as_column(token: Token) -> str:
    # YAML takes no plain text that begins with a backquote.
    return f'a column of that name is written "`{token.written}`", with both kinds of quotes'


def _call(place: Place) -> Iterator[str]:
    """Functions by name, quoted or not, qualified or not, and the few that are called without parentheses."""
    token, written = place.token, place.token.written
    if not place.near(1).is_mark("("):
        if token.kind == "word" and token.name in WITHOUT_PARENTHESES and not place.is_field:
            yield f"found `{written}`, which {WHY[token.name]} ({_as_column(token)})"
    elif token.is_word("identifier"):
        yield f"found `{written}`, which makes a name of text; {ROW} with its names written out"
    elif token.name in WHY and not _is_harmless(place):
        yield f"found `{written}`, which {WHY[token.name]}"
    elif token.name in WITHOUT_OPTIONS and _arguments(place) > WITHOUT_OPTIONS[token.name]:
        yield f"found `{written}` with options, of which one names a file to read; allowed is it without"


def _arguments(place: Place) -> int:
    """How many arguments a function has, which has one at least."""
    inside, count = 0, 1
    for index in range(place.index + 1, len(place.tokens)):
        token = place.tokens[index]
        inside += token.is_mark("(", "[")
        inside -= token.is_mark(")", "]")
        if not inside:
            break
        count += inside == 1 and token.is_mark(",")
    return count


def _is_harmless(place: Place) -> bool:
    """`LIKE ANY (…)` compares with several patterns, and `unix_timestamp(t)` reads no clock."""
    token = place.token
    if token.name in ONLY_WITHOUT_ARGUMENTS:
        return not place.near(2).is_mark(")")
    return token.is_word(*QUANTIFIERS) and place.near(-1).is_word("like", "ilike")


def _clock_word(place: Place) -> Iterator[str]:
    if place.near(-1).kind == "text":
        return
    # Texts that stand beside each other are one.
    tokens = (place.tokens[index] for index in range(place.index, len(place.tokens)))
    texts = list(takewhile(lambda it: it.kind == "text", tokens))
    written = " ".join(it.written for it in texts)
    meant = fold("".join(it.meaning for it in texts)).strip(NOTHING_OF_A_TIME)
    is_pattern = place.near(-1).is_word(*PATTERN_WORDS) and not place.near(len(texts)).is_mark("::")
    if CLOCK_WORD.fullmatch(meant) and not is_pattern:
        yield f"found {written}, which Spark may read as the clock; allowed as text is `LIKE {written}`"
    if TIME_ALONE.match(meant) and _is_made_an_instant(place, length=len(texts)):
        yield f"found {written}, which Spark reads as a time of today; allowed is one with its date"


def _is_made_an_instant(place: Place, *, length: int) -> bool:
    """Whether a text of so many tokens is made one where it stands. One that is compared with an instant is
    too: what it is compared with is not known here.
    """
    after, cast = place.near(length), place.near(length + 1)
    is_cast = (after.is_mark("::") or after.is_word("as")) and cast.is_word(*INSTANTS)
    is_alone = place.near(-1).is_mark("(") and after.is_mark(")")
    is_argument = is_alone and place.near(-2).is_word(*MAKE_INSTANTS)
    return is_cast or is_argument or place.near(-1).is_word(*INSTANTS)


def _mark(place: Place) -> Iterator[str]:
    token, before = place.token, place.near(-1)
    operand = before.kind != "mark" or before.is_mark(")", "]")
    if token.is_mark("?", "@") or (token.is_mark(":") and not operand):
        yield f"found `{token.written}`, which stands for a value from elsewhere; allowed is the value itself"
    if token.is_mark("|>"):
        yield f"found `{token.written}`, which makes a query; {ROW}"


def _unbalanced(tokens: tuple[Token, ...]) -> Iterator[str]:
    """An expression is put between parentheses of ours, which it may not close."""
    opened: list[str] = []
    for token in tokens:
        if token.is_mark("(", "["):
            opened.append(token.written)
        elif token.is_mark(")", "]") and (not opened or opened.pop() != PARTNERS[token.written]):
            yield f"found `{token.written}` without its partner; allowed is one for each that opens"
            return
    if opened:
        yield f"found `{opened[-1]}` without its partner; allowed is one that closes each"


def _too_deep(tokens: tuple[Token, ...]) -> Iterator[str]:
    """Brackets, CASE and types nest what is in them, and so does each of several signs before an operand."""
    inside = types = before = deepest = 0
    for last, token in pairwise([NOTHING, *tokens]):
        inside += token.is_mark("(", "[") or token.is_word("case")
        inside -= token.is_mark(")", "]") or token.is_word("end")
        types += token.is_mark("<") and last.is_word(*OPEN_TYPES)
        types -= min(types, len(token.written)) if token.is_mark(">", ">>", ">>>") else 0
        is_before = token.is_word("not") or token.is_mark("-", "+", "~", "!")
        before = before + 1 if is_before else 0
        deepest = max(deepest, inside + types + before)
    if deepest > MOST_NESTED:
        yield f"found an expression nested {deepest} deep; allowed are {MOST_NESTED}"
