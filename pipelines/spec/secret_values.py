"""What nobody should read in a log: passwords, tokens and keys among the options of readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pipelines.spec.model import Pipeline

NAMED = re.compile(
    r"pass(word|wd|phrase|code|key)|pass(?![a-z])|pwd|secret|token|credential|user.?info|sas\b|jwt"
    r"|authorization|(^|[._-])(auth|pat)$"
    r"|(access|account|api|encryption|decryption|keystore|master|private|pvt).?key",
    re.I,
)
"""Options whose value is a secret, by their name."""
LONGEST = 4096
"""Of a secret with slashes in it. What may be of any length is looked for from each place to the end."""
ASSIGNED = (
    r"(?:pass(?:word|wd|phrase|code|key)|\bpass|pwd|token|secret"
    r"|(?:access|account|api|private|pvt)_?key|\bsig|signature|\bjwt)"
)
"""How a name ends that an address gives a secret to."""
QUOTED = r"(?:[^\"\\]|\\.)+"
VALUE = rf"(\"{QUOTED}\"|'[^']+'|\{{(?:[^}}]|\}}\}})*\}}|[^\s;&\"`]+)"
"""The secret: in quotes, in braces as drivers of Microsoft take it, or up to the next part of the address."""
IN_ADDRESS = (
    # A secret may have `@` in it, and goes to the last one; what begins with a port is none.
    re.compile(r"://[^/\s:@;?]*:(?!\d+[;,?])([^\s/?]+)@"),
    # A secret of AWS often has a slash in it.
    re.compile(rf"s3[an]?://[^/\s:@]*:([^@\s]{{1,{LONGEST}}})@", re.I),
    re.compile(rf":(?:thin|oci8?):[^/\s@]{{1,{LONGEST}}}/(\S{{1,{LONGEST}}})@"),
    re.compile(rf"{ASSIGNED}={VALUE}", re.I),
    # With blanks about it only behind another part of an address: in SQL they stand about any column.
    re.compile(rf"[;?&]\s{{0,64}}[\w.-]{{0,64}}?{ASSIGNED}\s{{0,64}}=\s{{0,64}}{VALUE}", re.I),
    re.compile(rf"password\s*=\s*\"({QUOTED})\"", re.I),
)
"""A secret inside an address: `scheme://user:secret@host`, `…:thin:user/secret@host`, `…?password=secret`."""
IN_PARTS = re.compile(rf";\s{{0,64}}[\w.-]{{0,64}}?{ASSIGNED}\s{{0,64}}=\s{{0,64}}([^;\s\"'{{][^;]*)", re.I)
"""A secret in an address of parts with `;` between them, where blanks may stand in it. In a text it would be
all that follows.
"""
HIDDEN = "***"


def secrets_of(pipeline: Pipeline) -> tuple[str, ...]:
    """The secrets of all sources, the longest first."""
    found = {secret for source in pipeline.sources for secret in _secrets((source.path,), source.options)}
    return tuple(sorted(found, key=lambda secret: (-len(secret), secret)))


def secrets_in(text: str) -> tuple[str, ...]:
    """What looks like a secret inside the addresses of a text, the longest first."""
    return tuple(sorted({it for form in IN_ADDRESS for it in form.findall(text)}, key=len, reverse=True))


def hide(text: str, secrets: Iterable[str]) -> str:
    """The text with stars where a secret stood: one that is known, or one in an address."""
    for secret in (*secrets, *secrets_in(text)):
        text = text.replace(secret, HIDDEN)
    return text


def _secrets(addresses: Sequence[str | None], options: Iterable[tuple[str, str]]) -> Iterable[str]:
    for name, value in options:
        # A flag is no secret, and its word stands in many messages.
        if NAMED.search(name) and value and value.lower() not in ("true", "false"):
            yield value
        addresses = (*addresses, value)
    for address in addresses:
        yield from secrets_in(address or "")
        yield from IN_PARTS.findall(address or "")
