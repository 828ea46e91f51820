"""In the background, the helper ran modules of the current folder, and what one had died with was never tuned.

Threads that changed options at the same time left managers behind, or waited for one that was not started.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import sysconfig
import threading
from pathlib import Path

import processes
import pytest
import torch
from libsparse._compiler import kernel, settings
from libsparse._runtime import tally
from libsparse._tools.background import link, manager, messages, sites

import libsparse as ls

# The helper --------------------------------------------------------------------------------------------------------

_HELPER = """
import os, pickle, queue, socket, sys

def main(descriptor):
    data = pickle.dumps((sys.path, queue.__file__, os.getcwd()))
    socket.socket(fileno=descriptor).sendall(len(data).to_bytes(8, "little") + data)
"""


@pytest.fixture
def search(tmp_path, monkeypatch):
    """The path of a program with a package in the place of libsparse, whose helper says what it finds."""
    package = tmp_path / "path" / "libsparse" / "_tools" / "background"
    package.mkdir(parents=True)
    (package / "helper.py").write_text(_HELPER)
    path = [str(tmp_path / "path"), *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))]
    path += [entry for entry in sys.path if entry.endswith("lib-dynload")]
    monkeypatch.setattr(sys, "path", path)
    return path


def found():
    helper = link.Helper()
    helper._link.settimeout(60)
    try:
        return messages.receive(helper._link)
    finally:
        helper.close()


@pytest.fixture
def downloads(tmp_path, monkeypatch):
    """The current folder, with a file of the name of a module."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "queue.py").write_text("")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("variable", [None, "", "."])
def test_the_helper_runs_nothing_from_the_current_folder(variable, search, downloads, monkeypatch):
    if variable is not None:
        monkeypatch.setenv("PYTHONPATH", variable)
    path, module, folder = found()
    assert path == search
    assert Path(module).parent != downloads
    assert folder == str(downloads)


def test_the_helper_imports_as_the_program_does(search, downloads):
    search[:0] = ["", Path("of another type"), "it's\n\udc80{}"]
    path, module, _ = found()
    assert path == [entry for entry in search if isinstance(entry, str)]
    assert Path(module).absolute().parent == downloads


def test_the_helper_starts_where_the_current_folder_is_gone(search, downloads):
    search.insert(0, "")
    shutil.rmtree(downloads)
    path, _, folder = found()
    assert path == search[1:]
    assert folder == "/"


@pytest.mark.parametrize("closed", [(0, 1), (0, 1, 2), (1, 2)])
def test_a_program_without_standard_streams_has_a_helper(closed, search, downloads):
    kept = [(stream, os.dup(stream)) for stream in (0, 1, 2)]
    for stream in closed:
        os.close(stream)
    try:
        path, *_ = found()
    finally:
        for stream, copy in kept:
            os.dup2(copy, stream)
            os.close(copy)
    assert path == search


def test_a_program_with_many_open_files_hears_its_helper():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, before[1]))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1024)]
    try:
        helper = link.Helper()
        assert helper.outcome(0.01) is None
        helper.close()
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_python_that_does_not_know_its_executable_starts_no_helper(monkeypatch):
    monkeypatch.setattr(sys, "executable", None)
    with pytest.raises(OSError, match="executable"):
        link.Helper()


# The manager -------------------------------------------------------------------------------------------------------


def managers():
    return [thread for thread in threading.enumerate() if isinstance(thread, manager.Manager)]


@pytest.fixture
def off():
    yield
    ls.options(**settings.Tuning()._asdict())
    for thread in managers():
        thread.join(60)
    assert not managers()


@pytest.mark.usefixtures("off")
def test_threads_that_change_options_leave_one_manager_or_none():
    errors = []

    def change(share):
        try:
            for number in range(25):
                ls.options(tune=("off", "background")[number % 2], tune_share=share)
        except RuntimeError as error:
            errors.append(error)

    threads = [threading.Thread(target=change, args=(0.1 * n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    ls.options(tune="background")
    assert manager.manager().is_alive()
    ls.options(tune="off")
    assert manager.manager() is None
    assert not tally.watching


@pytest.mark.usefixtures("off")
@pytest.mark.parametrize("last", ["off", "background"])
def test_signal_handlers_change_options_amid_a_change(last, monkeypatch):
    begin, begun = manager.Manager.start, []

    def start(self):
        if not begun:  # as a handler does that runs before the thread is started
            begun.append(self)
            ls.options(tune="off")
            ls.options(tune=last, tune_share=0.2)
        begin(self)

    monkeypatch.setattr(manager.Manager, "start", start)
    ls.options(tune="background")
    assert settings.tuning.tune == last
    assert (manager.manager() is not None) == (last == "background") == tally.watching
    assert [thread for thread in managers() if not thread._ended.is_set()] == [manager.manager()] * (last != "off")


def test_an_interrupted_start_leaves_nothing(off, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(manager.Manager, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ls.options(tune="background")
    ls.options(tune="off")
    assert manager.manager() is None


def test_a_process_that_was_forked_while_options_changed(off):
    ls.options(tune="background")
    held, release = threading.Event(), threading.Event()

    def hold():
        with manager._lock, settings._changing:
            held.set()
            release.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # or it would wait for good
        ls.options(tune="background")
        right = manager.manager().is_alive()
        ls.options(tune="off")
        os._exit(0 if right and manager.manager() is None else 1)
    release.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


class StandIn:
    """A helper in this process, which dies in its first jobs."""

    deaths = 0
    jobs = 0

    def begin(self, job):
        StandIn.jobs += 1
        if StandIn.jobs <= StandIn.deaths:
            raise EOFError

    def outcome(self, seconds):
        return messages.Outcome(known=True)

    def wake(self):
        pass

    close = forget = wake


@pytest.mark.parametrize(("deaths", "jobs"), [(0, 1), (1, 2), (2, 2)])
def test_what_a_helper_died_with_has_another_try(deaths, jobs, off, tmp_path, monkeypatch):
    monkeypatch.setattr(manager, "Helper", StandIn)
    monkeypatch.setattr(manager, "_PRICE", 1e-7)
    monkeypatch.setattr(StandIn, "deaths", deaths)
    monkeypatch.setattr(StandIn, "jobs", 0)
    with ls.options(cache_dir=tmp_path, num_threads=1):
        kernel.forget()
        A, x = ls.random((60, 50), 0.2), torch.rand(50, 8)
        own = manager.Manager()  # which is not started: the test has it look
        tally.recent.clear()
        tally.watch(True)
        for _ in range(2 * tally.PERIOD):
            A @ x
        tally.watch(False)
        for _ in range(5):
            own._look()
    kernel.forget()
    assert StandIn.jobs == jobs
    assert own._failures == deaths
    said = ["not measured"] * deaths + ["measured before"] * (jobs - deaths)
    assert [line.partition(": ")[2] for line in own.log] == said


def test_what_new_patterns_share_has_another_try_with_the_next(monkeypatch):
    class Site:
        failed = False

        def __init__(self, tally):
            self.tally = tally

        def call(self):
            return type("Call", (), {"tally": type("Tally", (), {"all": self.tally})})

    known = sites.Sites()
    known.fail(Site("kernel"), False)
    known.fail(Site("another kernel"), False)
    assert not known._classes
    known.fail(Site("kernel"), False)
    assert known._classes == {"kernel"}


def test_a_helper_is_heard_beyond_the_descriptors_that_select_takes(tmp_path):
    script = """
import os, resource, torch, libsparse
from libsparse._tools.background.link import Helper
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
copies = [os.dup(1) for _ in range(1100)]
helper = Helper()
print(helper.outcome(0.01))
helper.close()
"""
    assert processes.run(script, tmp_path) == "None"
