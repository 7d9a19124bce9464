"""Child processes: every way one can end, and that none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from robosmoke.errors import SetupError
from robosmoke.host.environments import process
from robosmoke.host.environments.backend import ProcessEnd
from robosmoke.host.environments.process import Job, require_success, run_job


def run(folder: Path, code: str, *, timeout_s: float = 20.0, memory_mb: int = 0, echo: bool = False) -> ProcessEnd:
    """Run a piece of Python to its end."""
    return run_job(
        Job(
            command=(sys.executable, "-c", code),
            variables={"PATH": os.environ["PATH"]},
            folder=folder,
            log=folder / "run.log",
            timeout_s=timeout_s,
            memory_mb=memory_mb,
            echo=echo,
        )
    )


def wait_gone(pid: int) -> bool:
    """Tell whether a process is gone, or a mere zombie, within two seconds."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def test_reports_the_exit_code_and_the_last_lines(tmp_path: Path) -> None:
    """An ordinary end carries its code and the end of the log."""
    end = run(tmp_path, "import sys; print('one'); print('two', file=sys.stderr); sys.exit(7)")
    assert (end.exit_code, end.signal, end.describe()) == (7, None, "exit 7")
    assert sorted(end.tail) == ["one", "two"]


def test_names_the_signal_that_killed_it(tmp_path: Path) -> None:
    """A segmentation fault is not an exit code."""
    end = run(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (end.exit_code, end.signal, end.describe()) == (None, "SIGSEGV", "killed by SIGSEGV")


def test_stops_a_hang_and_everything_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the deadline the whole tree goes, also a child in a session of its own that ignores SIGTERM."""
    monkeypatch.setattr(process, "GRACE_S", 0.5)
    code = (
        "import os, signal, subprocess, sys, time\n"
        "sleep = 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)'\n"
        "children = [subprocess.Popen([sys.executable, '-c', sleep], start_new_session=new) for new in (True, False)]\n"
        "print(*[child.pid for child in children], flush=True)\n"
        "time.sleep(600)\n"
    )
    end = run(tmp_path, code, timeout_s=1.5)
    assert end.timed_out
    assert end.describe() == "timed out after 1.5 s"
    assert all(wait_gone(int(pid)) for pid in end.tail[0].split())


def test_leaves_no_background_process_after_a_clean_end(tmp_path: Path) -> None:
    """A helper that outlives its parent is stopped, though the parent ended well."""
    code = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)"
    end = run(tmp_path, code)
    assert end.exit_code == 0
    assert wait_gone(int(end.tail[0]))


def test_stops_a_tree_over_its_memory_limit(tmp_path: Path) -> None:
    """The sum over the tree counts, and the sentence names the limit."""
    code = (
        "import subprocess, sys, time\n"
        "hog = 'x = bytearray(120 * 2**20); x[::4096] = bytes(len(x[::4096])); import time; time.sleep(30)'\n"
        "children = [subprocess.Popen([sys.executable, '-c', hog]) for _ in range(2)]\n"
        "time.sleep(30)\n"
    )
    end = run(tmp_path, code, memory_mb=200)
    assert end.out_of_memory
    assert end.describe() == "out of memory (limit 200 MB)"
    assert end.wall_s < 15


def test_counts_shared_pages_once(tmp_path: Path) -> None:
    """Forked workers that share their parent's memory do not add up to an out-of-memory."""
    code = "import os, time\ndata = b'x' * (100 * 2**20)\npids = [os.fork() for _ in range(1)] + [0]\ntime.sleep(1.5)\n"
    assert not run(tmp_path, code, memory_mb=180).out_of_memory


def test_gives_the_guest_no_stdin(tmp_path: Path) -> None:
    """A prompt reads the end of the file at once; it does not hang."""
    end = run(tmp_path, "input('licence? ')")
    assert end.exit_code == 1
    assert "EOFError" in end.tail[-1]


def test_echoes_only_what_is_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second call appends to the log and echoes its own output alone."""
    run(tmp_path, "print('first')")
    end = run(tmp_path, "print('second')", echo=True)
    assert capsys.readouterr().out == "second\n"
    assert end.tail == ("second",)
    assert (tmp_path / "run.log").read_text() == "first\nsecond\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_stops_the_child_when_we_are_stopped(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C, SIGTERM and SIGHUP to the host end the guest too."""
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from robosmoke.host.environments.process import Job, run_job\n"
        "run_job(Job(command=('sleep', '600'), variables={'PATH': os.environ['PATH']}, folder=Path(sys.argv[1]),"
        " log=Path(sys.argv[1], 'run.log'), timeout_s=600))\n"
    )
    host = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not (children := psutil.Process(host.pid).children()) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.1)
        host.send_signal(number)
        assert host.wait(timeout=10) != 0
        assert wait_gone(children[0].pid)
    finally:
        host.kill()
        host.wait()


def test_says_which_command_cannot_be_started(tmp_path: Path) -> None:
    """A missing program is an error of the setup that names it."""
    job = Job(command=("/no/such/program",), variables={}, folder=tmp_path, log=tmp_path / "run.log", timeout_s=5)
    with pytest.raises(SetupError, match="/no/such/program: cannot be started: No such file"):
        run_job(job)


def test_a_failed_step_shows_the_end_of_its_log(tmp_path: Path) -> None:
    """The error has what failed, how, what to do, then the last lines."""
    end = run(tmp_path, "import sys; print('no matching distribution'); sys.exit(1)")
    with pytest.raises(SetupError) as caught:
        require_success(end, "installing torch failed", "check the index")
    assert str(caught.value).splitlines() == [
        "installing torch failed: exit 1: check the index",
        "  no matching distribution",
    ]


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A full disk or a wrong folder is an error of the setup, not a traceback."""
    (tmp_path / "file").write_text("")
    job = Job(command=("true",), variables={}, folder=tmp_path, log=tmp_path / "file" / "run.log", timeout_s=5)
    with pytest.raises(SetupError, match=r"run\.log: cannot be written: File exists: choose another"):
        run_job(job)
