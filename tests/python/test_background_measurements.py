"""What tuning in the background measures, and how variants are compared in calls."""

from __future__ import annotations

import gc
import math
import socket
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from libsparse._runtime import dispatch, tally, tuned
from libsparse._tools import brief, trials
from libsparse._tools.background import audition, candidates, helper, messages, sites, swaps

import libsparse as ls

pytestmark = pytest.mark.usefixtures("own_cache")


def test_an_audition_ends_with_its_pattern_and_with_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
    A @ x
    ((name, (prepared, _)),) = A.pattern.calls.items()
    site = sites.Site(weakref.ref(A.pattern), name)
    own = prepared.variant
    candidate = swaps.prepare(site, "reorder(i, j, k); prefetch(j, 8)")
    assert candidate is not None
    monkeypatch.setattr(audition, "_PATIENCE", 0.01)
    assert audition.audition(site.prepared, candidate.variant, lambda _: True, 1.0).ended.startswith("tuning")
    assert audition.audition(site.prepared, candidate.variant, lambda _: False, 1.0).ended == "there are no more calls"
    assert prepared.variant is own

    def replaced(_: float) -> bool:
        prepared.replace(dispatch.build(prepared.problem, site.operands()))
        return False

    assert "somebody else" in audition.audition(site.prepared, candidate.variant, replaced, 1.0).ended
    prepared = own = A = None
    gc.collect()
    assert audition.audition(site.prepared, candidate.variant, lambda _: False, 1.0).ended == "the pattern is gone"


def test_slower_variants_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    A, x = ls.random((300, 300), 0.2), torch.rand(300, 32)
    A @ x
    ((name, (prepared, _)),) = A.pattern.calls.items()
    own = prepared.variant
    site = sites.Site(weakref.ref(A.pattern), name)
    slow = swaps.prepare(site, "reorder(i, k, j)")
    assert slow is not None
    tally.watch(True)

    def wait(_: float) -> bool:
        for _ in range(20):
            A @ x
        return False

    verdict = audition.audition(site.prepared, slow.variant, wait, 1e-4)
    tally.watch(False)
    assert not verdict.won
    assert not verdict.ended
    assert verdict.rounds < audition.ROUNDS
    assert prepared.variant is own
    assert own.tally.period == tally.PERIOD


def _job(**changed: Any) -> messages.Job:
    A = ls.random((200, 200), 0.1)
    for _ in range(2):  # the first product of a pattern is not prepared
        A @ torch.rand(200, 8)
    ((name, _),) = A.pattern.calls.items()
    site = sites.Site(weakref.ref(A.pattern), name)
    job = site.job(True, 3, 1 << 30)
    assert job is not None
    operands = [o._replace(data=messages.filled(o.data.dtype, o.data.shape, o.data.stride())) for o in job.operands]
    return job._replace(operands=operands, **{"share": 1.0, **changed})


def test_the_bitwise_mode_keeps_the_order_of_sums() -> None:
    job = _job(bitwise=True, budget=4)
    subject = candidates.Paced(job)
    for trial in candidates.measure(job, subject, [], lambda: None):
        if trial.ratio is not None:
            variant, _ = subject.variant(trial.schedule)
            assert torch.equal(variant(subject.operands)[0], subject.default(subject.operands)[0])
    other = "split(j, j0, j1, 4); reorder(j1, i, j0, k)"
    with pytest.raises(ls.UnsupportedError, match="order"):
        subject.variant(other)
    candidates.Paced(job._replace(bitwise=False)).variant(other)


def test_copies_take_no_more_memory_than_the_option_says() -> None:
    job = _job(bytes=100)
    with pytest.raises(ls.UnsupportedError, match="memory"):
        candidates.Paced(job).variant("convert(A0, ds:1,0); reorder(j, i, k)")
    with pytest.raises(ls.UnsupportedError, match="new pattern"):
        candidates.Paced(job._replace(exact=False, bytes=1 << 30)).variant("convert(A0, ds:1,0); reorder(j, i, k)")
    A = ls.random((200, 200), 0.1)
    for _ in range(2):  # the first product of a pattern is not prepared
        A @ torch.rand(200, 8)
    ((name, _),) = A.pattern.calls.items()
    assert sites.Site(weakref.ref(A.pattern), name).job(True, 3, 1000) is None


def test_measurements_leave_the_rest_of_the_time_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(candidates.time, "sleep", slept.append)
    subject = candidates.Paced(_job(share=0.05))
    assert sum(slept) == pytest.approx(19 * subject.spent)


def test_jobs_go_through_a_socket() -> None:
    job, (left, right) = _job(), socket.socketpair()
    sender = threading.Thread(target=messages.send_job, args=(left, job))
    sender.start()
    found = messages.receive_job(right)
    sender.join()
    assert found.problem == job.problem
    pattern = found.operands[0].sparsity
    assert all(map(torch.equal, pattern.tensors(), job.operands[0].sparsity.tensors()))
    left.close()
    with pytest.raises(EOFError):
        messages.receive(right)
    right.close()


def test_what_was_measured_before_is_not_measured_again(tmp_path: Path) -> None:
    job = _job(cache_dir=str(tmp_path), budget=1)
    first = helper.carry_out(job, lambda: None)
    assert not first.known
    assert len(first.trials) == 2
    found = {"schedule": None, "formats": "", "trials": [list(t) for t in first.trials]}
    tuned.keep(first.name, first.digest, job.problem.text, found, all=True, count=1)
    assert helper.carry_out(job, lambda: None).known


def test_wrong_results_and_refusals_are_no_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    job = _job(budget=2)
    monkeypatch.setattr(trials, "_same", lambda *_: False)
    monkeypatch.setattr(candidates.Paced, "worth_comparing", lambda *_: True)  # those that are not, nobody looks at
    monkeypatch.setattr(brief, "_FAR", math.inf)  # nor at those whose first calls take too long, as on a busy machine
    found = candidates.measure(job, candidates.Paced(job), [], lambda: None)
    assert [t.ratio is None for t in found] == [False, True, True]
    assert all(t.point["parallel"] == "auto" for t in found)
    assert all("parallelize" in t.schedule for t in found)


def test_little_is_not_measured_where_much_was_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    class Order:
        proposals = iter([{"default": True, "expected": 0.0}, *({"expected": x} for x in (0.3, 0.12, 0.08, 0.2))])

        def ask(self) -> dict[str, Any]:
            return {"point": {}, "schedule": "parallelize(i, threads)", **next(self.proposals)}

        def tell(self, result: dict[str, Any]) -> None: ...

        def close(self) -> None: ...

    monkeypatch.setattr(candidates, "ranking", lambda _: Order())
    monkeypatch.setattr(trials, "measured", lambda _, asked: trials.Trial({}, "", 1.0 if "default" in asked else 0.25))
    found = candidates.measure(_job(budget=9), candidates.Paced(_job()), [], lambda: None)
    assert len(found) == 3  # 0.08 is less than a twentieth of a quarter's logarithm
