"""What can go wrong while a batch runs: each fault is put in after so many writes, and taken out again.

Each says whether it struck: whether what was asked met it before it was done.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipelines.spec import load
from pipelines.store import small
from pipelines.store.attempts import highest
from pipelines.store.ledger_rows import unfinished
from pipelines.store.reader import read_ledger
from pipelines.store.tables import Folder
from tests.crash.by_stages import Task, tasks_of
from tests.crash.killing import written
from tests.crash.kills import of_batch
from tests.crash.watching import Watch
from tests.crash.workers import Asked, Command, Worker

LONGEST_SECONDS = 300.0
LOOK_SECONDS = 0.02
READ_ONLY, WRITABLE = 0o555, 0o755
GIVEN_WAY = "WaitForTheBatch"
"""What an attempt says that another has taken over from."""


@dataclass(kw_only=True)
class Scene:
    """The worker that is at what was asked of a spec, and the one that stands by; after a fault either may be
    dead. `most_writes` is how often such a thing commits.
    """

    spec: Path
    asked: Asked
    worker: Worker
    spare: Worker
    store: Path
    data: Path
    chosen: random.Random
    most_writes: int

    def begin(self) -> None:
        """Let the worker begin, and wait until it has committed a number of times, or is done."""
        number = self.chosen.randint(1, self.most_writes)
        until = time.monotonic() + LONGEST_SECONDS
        with Watch(self.store) as watch:
            self.worker.tell(self.asked, spec=self.spec)
            while not watch.sees(number, seconds=LOOK_SECONDS) and not self.worker.has_answered:
                assert time.monotonic() < until, f"{self.asked} takes too long"

    def attempts(self) -> int:
        """The number of the newest attempt at anything."""
        folder = Folder(root=str(self.store / self.spec.stem))
        return highest(folder) if small.is_there(folder, "attempts") else 0


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


def give_it_up(scene: Scene) -> bool:
    """Killed, and abandoned; asked for again it begins where the batches before it ended."""
    scene.begin()
    scene.worker.kill()
    pending = unfinished(read_ledger(str(scene.store), scene.spec.stem))
    if pending is not None:
        scene.spare.tell(Command("abandon", of_batch(pending.batch)), spec=scene.spec)
        said = scene.spare.answer()
        assert said == "done", said
    return pending is not None


def retry_out_of_turn(scene: Scene) -> bool:
    """By tasks: the sources in any order, and stages that had ended again, with those after them."""
    if isinstance(scene.asked, Command):
        return nothing(scene)
    *sources, combine, finalise, publish = tasks_of(load(scene.spec))
    stages, order = [combine, finalise, publish], list[Task]()
    for _ in range(scene.chosen.randint(1, 3)):
        some = scene.chosen.sample(sources, scene.chosen.randint(1 if order else len(sources), len(sources)))
        order += [*some, *stages[: scene.chosen.randint(0, 2)]]
    scene.worker.tell(scene.asked, spec=scene.spec, tasks=[*order, *stages])
    said = scene.worker.answer()
    assert said == "done", f"by {order}: {said}"
    return True


def pause_and_take_over(scene: Scene) -> bool:
    """The older attempt wakes up when all is done, and can write nothing: of a batch. Upkeep may go on, and
    so may a replay with the batches that it had not begun, and who had only made tables: that one is the
    newer attempt then, at what has run alike.
    """
    attempts_before = scene.attempts()
    scene.begin()
    scene.worker.pause()
    is_older = scene.attempts() > attempts_before
    scene.spare.tell(scene.asked, spec=scene.spec)
    answered = scene.spare.answer()
    assert answered == "done", answered
    stood = written(scene.store, "commit")
    scene.worker.go_on()
    said = scene.worker.answer()
    assert said == "done" or said.startswith(GIVEN_WAY), said
    late = written(scene.store, "commit") - stood
    may_write = isinstance(scene.asked, Command) or not is_older
    assert may_write or not late, f"an older attempt said {said}, and wrote {late}"
    return said != "done"


def run_twice_at_once(scene: Scene) -> bool:
    """Two are asked for the same at the same time. Of a batch the newer attempt takes over."""
    scene.spare.wait_until_ready()
    scene.worker.tell(scene.asked, spec=scene.spec)
    time.sleep(scene.chosen.choice([0, 0.1, 0.5, 1]))
    scene.spare.tell(scene.asked, spec=scene.spec)
    said = [scene.worker.answer(), scene.spare.answer()]
    others = [it for it in said if it != "done"]
    assert len(others) < 2 and all(it.startswith(GIVEN_WAY) for it in others), said
    return bool(others)


def maintain_in_the_middle(scene: Scene) -> bool:
    """Upkeep by another process, more than once: neither gets in the way of the other."""
    scene.begin()
    struck = 0
    for _ in range(scene.chosen.randint(1, 3)):
        struck += not scene.worker.has_answered
        scene.spare.tell(Command("maintain"), spec=scene.spec)
        said = scene.spare.answer()
        assert said == "done", f"upkeep beside a batch: {said}"
    said = scene.worker.answer()
    assert said == "done", f"beside upkeep: {said}"
    return struck > 0


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
    """A file that ends in the middle."""
    return _beside_whole_ones(scene, lambda whole: whole[: len(whole) // 2])


def put_noise_among_the_inputs(scene: Scene) -> bool:
    """A file of which nothing is right but its ending."""
    return _beside_whole_ones(scene, lambda whole: scene.chosen.randbytes(len(whole)))


def overwrite_an_input(scene: Scene) -> bool:
    """A file that begins and ends as it should; all between is noise, up to what says where its rows are."""

    def spoilt(whole: bytes) -> bytes:
        footer = int.from_bytes(whole[-8:-4], "little") + 8
        return whole[:4] + scene.chosen.randbytes(len(whole) - footer - 4) + whole[-footer:]

    return _beside_whole_ones(scene, spoilt)


def _beside_whole_ones(scene: Scene, spoilt: Callable[[bytes], bytes]) -> bool:
    """Such a file stops a batch before it writes anything that counts. Upkeep reads no input."""
    whole = next(scene.data.glob("**/*.parquet"))
    wrong = whole.with_name("wrong.parquet")
    wrong.write_bytes(spoilt(whole.read_bytes()))
    scene.worker.tell(scene.asked, spec=scene.spec)
    said = scene.worker.answer()
    wrong.unlink()
    assert said, "the worker died of a file that cannot be read"
    assert isinstance(scene.asked, Command) or said != "done", "a file was read that cannot be"
    return said != "done"


def nothing(scene: Scene) -> bool:
    scene.worker.tell(scene.asked, spec=scene.spec)
    said = scene.worker.answer()
    assert said == "done", said
    return False


def name_of(fault: Callable[[Scene], bool]) -> str:
    return fault.__name__.replace("_", " ")


FAULTS: dict[str, Callable[[Scene], bool]] = {
    name_of(it): it
    for it in (
        *(nothing, kill_both, kill_the_jvm, kill_python, give_it_up, retry_out_of_turn),
        *(
            pause_and_take_over,
            run_twice_at_once,
            maintain_in_the_middle,
            fill_the_disk,
            take_permission_away,
        ),
        *(half_write_an_input, put_noise_among_the_inputs, overwrite_an_input),
    )
}
END_WELL = frozenset(
    map(
        name_of,
        (nothing, retry_out_of_turn, pause_and_take_over, run_twice_at_once, maintain_in_the_middle),
    )
)
"""Those beside which what was asked is done: somebody has said so."""
