"""What went wrong, told by what the reader does next.

Every message is one paragraph: what, where, found, wanted, and what to do. Anything else that is raised
is a bug of ours.
"""

from __future__ import annotations

from typing import ClassVar


class SashError(Exception):
    """The root. `exit_code` is what the command line leaves with."""

    exit_code: ClassVar[int] = 1


class CorrectTheSpec(SashError):
    """The spec cannot be run as it stands. Carries every problem found in it, not just the first."""

    exit_code = 2

    def __init__(self, where: str, problems: tuple[str, ...]) -> None:
        self.where = where
        self.problems = problems
        super().__init__(where, problems)

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return f"{self.where}: {self.problems[0]}"
        listed = "".join(f"\n  - {problem}" for problem in self.problems)
        return f"{self.where} has {len(self.problems)} problems:{listed}"


class CorrectTheCall(SashError):
    """The spec is fine; what was asked of it is not."""

    exit_code = 2


class LookAtTheData(SashError):
    """A check stopped the run: an expectation that may not fail has failed.

    `found` tells which and why, `advice` what a run has left and what to do, which is not so of a plan.
    """

    exit_code = 3

    def __init__(self, found: str, advice: str = "") -> None:
        self.found = found
        self.advice = advice
        super().__init__(found, advice)

    def __str__(self) -> str:
        return f"{self.found}\n{self.advice}" if self.advice else self.found


class WaitForTheBatch(SashError):
    """The pipeline is busy with another batch, or a newer attempt at this one took it over.

    `is_over`: the batch is somebody else's or ended, so that this attempt has nothing to wait for.
    """

    exit_code = 4

    def __init__(self, message: str, *, is_over: bool = False) -> None:
        super().__init__(message)
        self.is_over = is_over


class ChooseAnotherBatch(SashError):
    """The batch asked for conflicts with batches that have run."""

    exit_code = 4


class RunAgain(SashError):
    """Something passing got in the way (a conflict of writers, an input that changed underfoot).

    The same call works later.
    """


def with_causes(error: Exception) -> str:
    """What an error says and what its causes say, which alone may know what was wrong.

    Without Connect Java's own causes are in the text; over Connect they are beside it.
    """
    causes = getattr(error, "getStackTrace", lambda: None)()
    return f"{error}\n{causes or ''}"
