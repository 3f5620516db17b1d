"""The stages by name, for pages that need no Spark to name them."""

from __future__ import annotations

from collections.abc import Sequence

STAGES = ("accumulate", "combine", "finalise", "publish")


def steps_of(sources: Sequence[str]) -> tuple[str, ...]:
    """What a batch goes through, one report each."""
    return (*(f"accumulate {source}" for source in sources), *STAGES[1:])
