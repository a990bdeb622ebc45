"""Work that is put off while newer work of the same kind comes in."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["LatestOnly"]

Job = TypeVar("Job")
Result = TypeVar("Result")


class LatestOnly(Generic[Job, Result]):
    """Runs the newest job in a thread of its own; jobs overtaken before their turn are dropped.

    The thread ends when there is nothing left to do, and the next job starts another, so that
    nothing has to be closed.

    Args:
        work: Does a job.
        done: Is given the job and its result, in the thread; not when a newer job has come in.
        failed: Is given the job and the error, in the thread.
        pause: Seconds to wait before each job for a newer one to come in.
    """

    def __init__(
        self,
        work: Callable[[Job], Result],
        *,
        done: Callable[[Job, Result], None],
        failed: Callable[[Job, Exception], None],
        pause: float = 0.0,
    ) -> None:
        self._work = work
        self._done = done
        self._failed = failed
        self._pause = pause
        self._lock = threading.Condition()
        self._waiting: list[Job] = []
        self._running = False

    def submit(self, job: Job) -> None:
        """Do this job next, in place of any that waits."""
        with self._lock:
            self._waiting = [job]
            if self._running:
                return
            self._running = True
        # A notebook knows by its context which cell's output a message belongs to.
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._run,), daemon=True).start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; return whether that came within `timeout` seconds."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._running, timeout)

    def _run(self) -> None:
        while True:
            time.sleep(self._pause)
            with self._lock:
                if not self._waiting:
                    self._running = False
                    self._lock.notify_all()
                    return
                job = self._waiting.pop()
            try:
                result = self._work(job)
                if not self._waiting:
                    self._done(job, result)
            except Exception as error:  # noqa: BLE001 (the thread must not die unseen)
                self._failed(job, error)
