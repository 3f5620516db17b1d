"""A Python file as the rules see it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
Complaints = Iterator[str]


@dataclass(frozen=True)
class Module:
    """A file by its path from the root of the project, and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def room(self) -> str | None:
        """Of `pipelines/ingest/read.py` it is `ingest`, of `pipelines/errors.py` it is `errors`."""
        parts = Path(self.path).with_suffix("").parts
        return parts[1] if parts[0] == "pipelines" and len(parts) > 1 and parts[1] != "__init__" else None

    def says(self, node: ast.AST, what: str) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {what}"

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))


@cache
def modules(*folders: str) -> list[Module]:
    """All modules in these folders of the project."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [Module(str(path.relative_to(ROOT)), path.read_text()) for path in paths]


def imported(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every module that is imported anywhere inside, with `a.b` for `from a import b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node, f"{'.' * node.level}{node.module or ''}.{alias.name}") for alias in node.names)
