import threading

from nousmem.viz.explorer._latest import LatestOnly


def test_what_is_overtaken_is_never_done() -> None:
    gate, started = threading.Event(), threading.Event()
    worked, done = [], []

    def work(job: int) -> int:
        worked.append(job)
        started.set()
        gate.wait(10)
        return 10 * job

    latest = LatestOnly(work, done=lambda job, result: done.append((job, result)), failed=print)
    latest.submit(1)
    assert started.wait(10)
    for job in (2, 3, 4):
        latest.submit(job)
    assert not latest.wait(0.01)
    gate.set()
    assert latest.wait(10)
    assert worked == [1, 4]
    assert done == [(4, 40)]


def test_an_error_is_handed_on_and_work_goes_on() -> None:
    failed, done = [], []
    latest = LatestOnly(
        lambda job: 1 // job,
        done=lambda job, result: done.append((job, result)),
        failed=lambda job, error: failed.append((job, type(error))),
    )
    latest.submit(0)
    assert latest.wait(10)
    latest.submit(1)
    assert latest.wait(10)
    assert failed == [(0, ZeroDivisionError)]
    assert done == [(1, 1)]


def test_no_thread_is_left_behind() -> None:
    latest = LatestOnly(str, done=lambda *_: None, failed=lambda *_: None)
    assert latest.wait(0)
    before = threading.active_count()
    latest.submit(1)
    assert latest.wait(10)
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread():
            thread.join(1)
    assert threading.active_count() <= before
