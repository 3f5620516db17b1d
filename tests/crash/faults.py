"""What can go wrong while a batch runs: each fault is put in after so many writes, and taken out again.

Each says whether it struck: whether the batch met it before it was done.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipelines.stages import Request
from tests.crash.killing import written
from tests.crash.workers import Worker

LONGEST_SECONDS = 120.0
READ_ONLY, WRITABLE = 0o555, 0o755


@dataclass(kw_only=True)
class Scene:
    """The worker that is at the batch of a spec, and the one that stands by; after a fault either may be
    dead. `most_writes` is how often such a batch commits.
    """

    spec: Path
    request: Request
    worker: Worker
    spare: Worker
    store: Path
    data: Path
    chosen: random.Random
    most_writes: int

    def begin(self) -> None:
        """Let the worker begin, and wait until it has committed a number of times, or is done."""
        stood, number = written(self.store, "commit"), self.chosen.randint(1, self.most_writes)
        self.worker.tell(self.request, spec=self.spec)
        until = time.monotonic() + LONGEST_SECONDS
        while len(written(self.store, "commit") - stood) < number and not self.worker.has_answered:
            assert time.monotonic() < until, f"{self.request.batch} takes too long"
            time.sleep(0.002)


def kill_both(scene: Scene) -> bool:
    scene.begin()
    scene.worker.kill()
    return scene.worker.answer() != "done"


def kill_the_jvm(scene: Scene) -> bool:
    scene.begin()
    scene.worker.kill("jvm")
    said = scene.worker.answer()
    scene.worker.kill()
    return said != "done"


def kill_python(scene: Scene) -> bool:
    """The JVM may live on for a moment, and write."""
    scene.begin()
    was_done = scene.worker.has_answered
    scene.worker.kill("python")
    return not was_done


def pause_and_take_over(scene: Scene) -> bool:
    """The older attempt wakes up when the batch is done, and can write nothing."""
    scene.begin()
    scene.worker.pause()
    scene.spare.tell(scene.request, spec=scene.spec)
    assert scene.spare.answer() == "done"
    stood = {path: path.stat().st_mtime_ns for path in written(scene.store, "commit")}
    scene.worker.go_on()
    said = scene.worker.answer()
    assert said == "done" or said.startswith("WaitForTheBatch"), said
    late = [path for path in written(scene.store, "commit") if path not in stood]
    assert said != "done" or not late, f"an older attempt has written {late}"
    return said != "done"


def fill_the_disk(scene: Scene) -> bool:
    scene.begin()
    scene.worker.limit_files(scene.chosen.choice([0, 500, 3000]))
    said = scene.worker.answer()
    if scene.worker.is_alive:
        scene.worker.limit_files(-1)
    assert said, "the worker died of a full disk"
    return said != "done"


def take_permission_away(scene: Scene) -> bool:
    scene.begin()
    tables = [path for path in scene.store.glob(f"{scene.spec.stem}/*") if path.is_dir()]
    shut = scene.chosen.sample(tables, min(4, len(tables)))
    shut += [path for table in shut for path in table.glob("**/*") if path.is_dir()]
    for folder in shut:
        folder.chmod(READ_ONLY)
    said = scene.worker.answer()
    for folder in shut:
        folder.chmod(WRITABLE)
    assert said, "the worker died where it may not write"
    return said != "done"


def half_write_an_input(scene: Scene) -> bool:
    """A file that ends in the middle stops the batch before it writes anything that counts."""
    whole = next(scene.data.glob("**/*.parquet"))
    half = whole.with_name("half.parquet")
    half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    scene.worker.tell(scene.request, spec=scene.spec)
    said = scene.worker.answer()
    half.unlink()
    assert said != "done", "half a file was read as if it were whole"
    return True


def nothing(scene: Scene) -> bool:
    scene.worker.tell(scene.request, spec=scene.spec)
    said = scene.worker.answer()
    assert said == "done", said
    return False


FAULTS: dict[str, Callable[[Scene], bool]] = {
    it.__name__.replace("_", " "): it
    for it in (
        *(nothing, kill_both, kill_the_jvm, kill_python, pause_and_take_over),
        *(fill_the_disk, take_permission_away, half_write_an_input),
    )
}
