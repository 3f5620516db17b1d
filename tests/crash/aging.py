"""Lets the files of tables be as old as upkeep wants them before it deletes any."""

from __future__ import annotations

import json
import os
from pathlib import Path

EIGHT_DAYS = 8 * 24 * 3600


def age(tables: Path) -> None:
    """Let all files of the tables in a folder, and all commits, have been written, and what went have gone,
    eight days ago.
    """
    for log in tables.glob("*/_delta_log/*.json"):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            if "remove" in line:
                line["remove"]["deletionTimestamp"] -= EIGHT_DAYS * 1000
        log.write_text("\n".join(map(json.dumps, lines)) + "\n")
        # It is of what Spark wrote there.
        log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
    for path in tables.glob("*/**/*"):
        if path.is_file():
            then = path.stat().st_mtime - EIGHT_DAYS
            os.utime(path, (then, then))
