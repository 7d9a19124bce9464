"""Environments as venvs: real installers, real processes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from robosmoke.errors import SetupError
from robosmoke.host.environments import install, wheels
from robosmoke.host.environments.choice import choose_backend
from robosmoke.host.environments.lock import lock_path, read_lock
from robosmoke.host.environments.overrides import with_overrides
from robosmoke.host.environments.source import checkout
from robosmoke.host.environments.venv import PreparedVenv, VenvBackend

from .conftest import MakeBenchmark, MakeCall

INSTALLED = "import importlib.metadata as m; print(*[d.name.lower().replace('_', '-') for d in m.distributions()])"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a cache of its own."""
    monkeypatch.setenv("ROBOSMOKE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_guest_runs_in_exactly_its_lock(tmp_path: Path, make_benchmark: MakeBenchmark, make_call: MakeCall) -> None:
    """The guest sees what the lock pins and robosmoke, and nothing of the host's Python."""
    benchmark, environment = make_benchmark()
    prepared = VenvBackend().prepare(benchmark, environment, log=tmp_path / "install.log")
    end = prepared.execute(("-c", INSTALLED), make_call())
    lock = read_lock(benchmark, environment, log=tmp_path / "log")
    assert end.exit_code == 0
    assert set(end.tail[0].split()) == {*lock.pins, "robosmoke"}
    assert prepared.details["installed"] == "yes"
    assert prepared.details["lock"] == lock.digest
    assert len(prepared.details["wheel:robosmoke"]) == 64


def test_the_guest_entry_starts(tmp_path: Path, make_benchmark: MakeBenchmark, make_call: MakeCall) -> None:
    """``run`` calls ``python -m robosmoke`` with the arguments, the run folder in its variable."""
    benchmark, environment = make_benchmark()
    prepared = VenvBackend().prepare(benchmark, environment, log=tmp_path / "install.log")
    end = prepared.run(make_call("run-smoke", "--help"))
    assert end.exit_code == 0
    assert "usage" in "\n".join(end.tail)


def test_a_second_time_runs_no_installer(
    tmp_path: Path, make_benchmark: MakeBenchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nothing changed no installer and no build backend is started at all."""
    benchmark, environment = make_benchmark()
    first = VenvBackend().prepare(benchmark, environment, log=tmp_path / "install.log")

    def refuse(*_: object) -> None:
        raise AssertionError("an installer was started")

    monkeypatch.setattr(install, "run_job", refuse)
    monkeypatch.setattr(wheels, "run_job", refuse)
    second = VenvBackend().prepare(benchmark, environment, log=tmp_path / "second.log")
    assert second.key == first.key
    assert second.details["installed"] == "no"
    assert (tmp_path / "second.log").read_text() == ""


def test_an_edited_line_is_executed_without_an_installation(tmp_path: Path, make_benchmark: MakeBenchmark) -> None:
    """After an edit in the checkout the environment is the same, the guest's code is the new one."""
    root = checkout()
    assert root is not None
    copy = tmp_path / "checkout"
    for name in ("pyproject.toml", "README.md", "LICENSE", "src", "docker", "tests/smoke"):
        source = root / name
        (shutil.copytree if source.is_dir() else _copy_file)(source, copy / name)
    benchmark, environment = make_benchmark()
    script = tmp_path / "prepare.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nfrom msgspec.structs import replace\n"
        "from robosmoke.catalog import Benchmark, find\nfrom robosmoke.manifest import Environment\n"
        "from robosmoke.host.environments.backend import GuestCall\n"
        "from robosmoke.host.environments.venv import VenvBackend\n"
        f"environment = Environment(name='default', requirements={environment.requirements!r})\n"
        f"benchmark = Benchmark(find('pusht').manifest, Path({str(benchmark.folder)!r}), None)\n"
        "out = Path(sys.argv[1])\n"
        "prepared = VenvBackend().prepare(benchmark, environment, log=out / 'install.log')\n"
        "call = GuestCall(arguments=(), out=out, log=out / 'run.log', timeout_s=60, memory_mb=1024, echo=True)\n"
        "code = 'from robosmoke.benchmarks.pusht import EDITED; print(EDITED)'\n"
        "end = prepared.execute(('-c', code), call)\n"
        "print(prepared.details['installed'], end.tail[-1])\n"
    )
    answers = []
    for number in (1, 2):
        edited = copy / "src" / "robosmoke" / "benchmarks" / "pusht" / "__init__.py"
        edited.write_text(f"EDITED = {number}\n")
        answer = subprocess.run(
            [sys.executable, script, tmp_path / f"out{number}"],
            env={**os.environ, "PYTHONPATH": str(copy / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        answers.append(answer.stdout.splitlines()[-1])
    assert answers == ["yes 1", "no 2"]


def test_two_at_once_install_once(tmp_path: Path, make_benchmark: MakeBenchmark) -> None:
    """A second builder waits for the first, and uses what it made."""
    benchmark, environment = make_benchmark()
    found: list[PreparedVenv] = []

    def prepare(number: int) -> None:
        found.append(VenvBackend().prepare(benchmark, environment, log=tmp_path / f"{number}.log"))

    threads = [threading.Thread(target=prepare, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(prepared.details["installed"] for prepared in found) == ["no", "yes"]


def test_an_interrupted_installation_is_made_again(tmp_path: Path, make_benchmark: MakeBenchmark, cache: Path) -> None:
    """A host killed while it installs leaves nothing that a later run would take for complete."""
    benchmark, environment = make_benchmark()
    code = (
        "import sys\nfrom pathlib import Path\nfrom robosmoke.catalog import Benchmark, find\n"
        "from robosmoke.manifest import Environment\nfrom robosmoke.host.environments.venv import VenvBackend\n"
        f"environment = Environment(name='default', requirements={environment.requirements!r})\n"
        f"benchmark = Benchmark(find('pusht').manifest, Path({str(benchmark.folder)!r}), None)\n"
        f"VenvBackend().prepare(benchmark, environment, log=Path({str(tmp_path / 'killed.log')!r}))\n"
    )
    host = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while not list(cache.glob("environments/*/venv")) and time.monotonic() < deadline:
        time.sleep(0.005)
    host.kill()
    host.wait()
    assert not list(cache.glob("environments/*/complete.json"))
    prepared = VenvBackend().prepare(benchmark, environment, log=tmp_path / "install.log")
    assert prepared.details["installed"] == "yes"


def test_pip_installs_where_there_is_no_uv(
    tmp_path: Path, make_benchmark: MakeBenchmark, make_call: MakeCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without uv the same lock is installed by pip, and robosmoke's wheel is built by pip."""
    benchmark, environment = make_benchmark(python=f"{sys.version_info[0]}.{sys.version_info[1]}")
    monkeypatch.setattr(install, "find_uv", lambda: None)
    monkeypatch.setattr(wheels, "find_uv", lambda: None)
    prepared = VenvBackend().prepare(benchmark, environment, log=tmp_path / "install.log")
    end = prepared.execute(("-c", "import six, robosmoke; print(six.__version__)"), make_call())
    assert end.tail == ("1.17.0",)
    assert "Successfully installed" in (tmp_path / "install.log").read_text()


def test_a_wrong_hash_installs_nothing(tmp_path: Path, make_benchmark: MakeBenchmark, cache: Path) -> None:
    """A lock that does not match the files is refused; the error ends with the installer's words."""
    benchmark, environment = make_benchmark()
    path = lock_path(benchmark.folder, environment)
    six = r"(six==1\.17\.0) \\\n(    --hash=\S+( \\)?\n)+"
    path.write_text(re.sub(six, rf"\1 --hash=sha256:{'0' * 64}\n", path.read_text()))
    with pytest.raises(SetupError) as caught:
        VenvBackend().prepare(benchmark, environment, log=tmp_path / "install.log")
    message = str(caught.value)
    assert message.startswith("environment default: installing lock failed: exit ")
    assert "ash mismatch" in message
    assert not list(cache.glob("environments/*/complete.json"))


def test_an_override_makes_an_environment_of_its_own(
    tmp_path: Path, make_benchmark: MakeBenchmark, make_call: MakeCall
) -> None:
    """One flag replaces one version; every other pin stays, and the key differs."""
    benchmark, environment = make_benchmark()
    derived = with_overrides(environment, ["six==1.16.0"])
    lock, changed = (read_lock(benchmark, item, log=tmp_path / "lock.log") for item in (environment, derived))
    assert {name: pin for name, pin in changed.pins.items() if lock.pins[name] != pin} == {"six": "1.16.0"}
    keys = []
    for item in (environment, derived):
        prepared = VenvBackend().prepare(benchmark, item, log=tmp_path / "install.log")
        keys.append(prepared.key)
    assert keys[0] != keys[1]
    assert prepared.execute(("-c", "import six; print(six.__version__)"), make_call()).tail == ("1.16.0",)


def test_an_override_that_cannot_be_says_so(tmp_path: Path, make_benchmark: MakeBenchmark) -> None:
    """A version nobody published is an error of the setup, with the resolver's words."""
    benchmark, environment = make_benchmark()
    with pytest.raises(SetupError, match=r"lock of environment default\[six==99\.0\]"):
        VenvBackend().prepare(benchmark, with_overrides(environment, ["six==99.0"]), log=tmp_path / "install.log")


def test_a_python_nobody_has_is_named(tmp_path: Path, make_benchmark: MakeBenchmark) -> None:
    """The error names the version that is wanted."""
    benchmark, environment = make_benchmark(python="3.11")
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(install, "find_uv", lambda: None)
        patch.setattr(install, "find_python", lambda _: "/no/python3.11")
        with pytest.raises(SetupError, match=r"/no/python3\.11: cannot be started"):
            VenvBackend().prepare(benchmark, environment, log=tmp_path / "install.log")


def test_a_third_partys_distribution_is_added_with_its_entry_points(
    tmp_path: Path, make_benchmark: MakeBenchmark, make_call: MakeCall
) -> None:
    """Installed from a wheel, or editable and then edited: the guest finds today's code."""
    project = tmp_path / "project"
    (project / "src" / "third").mkdir(parents=True)
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "third"\nversion = "1.0"\n'
        '[project.entry-points."robosmoke.benchmarks"]\nthird = "third"\n'
    )
    source = project / "src" / "third" / "__init__.py"
    source.write_text("VALUE = 1\n")
    site = tmp_path / "site"
    code = (
        "import third, importlib.metadata as m\n"
        "print(third.VALUE, [p.value for p in m.entry_points(group='robosmoke.benchmarks')])\n"
    )
    benchmark, environment = make_benchmark()
    answers = []
    for options in ((), ("--editable",)):
        uv = install.find_uv()
        assert uv is not None
        command = [uv, "pip", "install", "--quiet", "--no-deps", "--target", site, *options, project]
        subprocess.run(command, check=True)
        source.write_text("VALUE = 2\n")
        found = PathDistribution(site / "third-1.0.dist-info")
        prepared = VenvBackend().prepare(
            benchmark._replace(distribution=found), environment, log=tmp_path / "install.log"
        )
        answers.append(prepared.execute(("-c", code), make_call()).tail[-1])
    assert answers == ["1 ['third']", "2 ['third']"]


def test_a_missing_engine_is_said_and_gone_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``auto`` takes venv and says why; ``docker`` is an error that says what to do."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    backend, why = choose_backend("auto")
    assert backend.name == "venv"
    assert "no Docker engine answers" in why or "not installed" in why
    with pytest.raises(SetupError, match="--backend venv"):
        choose_backend("docker")


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def test_a_kill_leaves_no_scratch_folder(tmp_path: Path) -> None:
    """After a kill -9 of the host the guest's temporary folder goes too."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom robosmoke.catalog import find\n"
        "from robosmoke.host.environments.backend import GuestCall\n"
        "from robosmoke.host.environments.venv import VenvBackend\n"
        "benchmark = find('pusht')\nout = Path(sys.argv[1])\n"
        "environment = benchmark.manifest.environment['default']\n"
        "prepared = VenvBackend().prepare(benchmark, environment, log=out / 'install.log')\n"
        "call = GuestCall(arguments=(), out=out, log=out / 'run.log', timeout_s=60, memory_mb=1024, echo=False)\n"
        "prepared.execute(('-c', 'print(1, flush=True); import time; time.sleep(60)'), call)\n"
    )
    scratch, out = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir()
    out.mkdir()
    host = subprocess.Popen([sys.executable, "-c", code, str(out)], env={**os.environ, "TMPDIR": str(scratch)})
    try:
        while not (out / "run.log").exists() or not (out / "run.log").read_text():
            assert host.poll() is None
            time.sleep(0.05)
        assert list(scratch.glob("robosmoke-*"))
    finally:
        host.kill()
        host.wait()
    deadline = time.monotonic() + 10
    while list(scratch.glob("robosmoke-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not list(scratch.glob("robosmoke-*"))


def test_an_installed_wheel_makes_environments_without_a_checkout(tmp_path: Path) -> None:
    """robosmoke installed plainly finds its Dockerfiles, its locks are current, its guest is itself."""
    root = checkout()
    uv = install.find_uv()
    assert root is not None
    assert uv is not None
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist", root], check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run([uv, "venv", "--quiet", tmp_path / "host"], check=True)
    python = tmp_path / "host" / "bin" / "python"
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, f"{wheel}[host]"], check=True)
    code = (
        "import sys\nfrom pathlib import Path\nfrom robosmoke.catalog import find\n"
        "from robosmoke.host.environments.backend import GuestCall\n"
        "from robosmoke.host.environments.choice import choose_backend\n"
        "from robosmoke.host.environments.source import checkout, dockerfile\n"
        "assert checkout() is None and dockerfile('base').is_file()\n"
        "benchmark = find('pusht')\nout = Path(sys.argv[1])\nbackend, _ = choose_backend('venv')\n"
        "prepared = backend.prepare(benchmark, benchmark.manifest.environment['default'], log=out / 'install.log')\n"
        "call = GuestCall(arguments=(), out=out, log=out / 'run.log', timeout_s=60, memory_mb=1024, echo=False)\n"
        "end = prepared.execute(('-c', 'import robosmoke.smoke as s; print(list(s.__path__)[0])'), call)\n"
        "print(end.exit_code, end.tail[-1])\n"
    )
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables["PATH"] = f"{Path(uv).parent}:{variables['PATH']}"
    answer = subprocess.run(
        [python, "-c", code, tmp_path / "out"], env=variables, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    status, where = answer.stdout.split()
    assert status == "0"
    assert "/cache/wheels/robosmoke-" in where
