"""What the demo is doing now: one line that is written over on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import time


class Line:
    """One thing that takes a while, and how long it has taken."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.began = time.monotonic()
        self.shown = ""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def now(self, doing: str) -> None:
        """Tell what is being done. Elsewhere than on a terminal only when that has changed."""
        if sys.stdout.isatty():
            text = f"  {self.title}  {self.seconds:4.0f} s  {doing}"
            sys.stdout.write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")
            sys.stdout.flush()
        elif doing and doing != self.shown:
            self.shown = doing
            say(f"  {self.title}  {self.seconds:4.0f} s  {doing}")

    def done(self, told: str) -> None:
        """Tell how it ended, and let the line stand."""
        over = "\r\x1b[K" if sys.stdout.isatty() else ""
        say(f"{over}  {self.title}  {self.seconds:4.0f} s  {told}")


def say(text: str) -> None:
    """Print at once, so that what several processes print stays in order."""
    print(text, flush=True)
