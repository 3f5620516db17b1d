"""Ends work that goes on for ever where nothing is left half done, when somebody asks for it."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
ONCE_S = 0.5
SAID = b"\nending after this batch; Ctrl-C once more ends it at once\n"


class Ending:
    """Whether the end was asked for, by Ctrl-C or SIGTERM. Who asks once more while a batch is at work
    interrupts it.
    """

    def __init__(self) -> None:
        self.is_asked, self._asked_at = False, 0.0
        self.is_at_work = False
        # One who waits cannot miss what is in a pipe.
        self._told, self._tell = os.pipe()

    def wait(self, seconds: float) -> None:
        """Wait for so long, or until the end is asked for."""
        select.select([self._told], [], [], seconds)

    def hear(self, signum: int, frame: FrameType | None) -> None:
        """What is to be done with a signal."""
        if self.is_asked:
            # Some send it to the process and to its group.
            if self.is_at_work and time.monotonic() - self._asked_at > ONCE_S:
                raise KeyboardInterrupt
            return
        self.is_asked, self._asked_at = True, time.monotonic()
        os.write(self._tell, b".")
        if self.is_at_work:
            # Past the buffers: the signal may have come while something was printed. Nobody may hear it.
            with suppress(OSError):
                os.write(2, SAID)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While something is done that is better not interrupted."""
        self.is_at_work = True
        try:
            yield
        finally:
            self.is_at_work = False

    def close(self) -> None:
        os.close(self._told)
        os.close(self._tell)


@contextmanager
def ending() -> Iterator[Ending]:
    """Listen to the signals meanwhile. To be begun when a session is there: Spark listens to Ctrl-C too."""
    found = Ending()
    before = {signum: signal.signal(signum, found.hear) for signum in SIGNALS}
    try:
        yield found
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        found.close()
