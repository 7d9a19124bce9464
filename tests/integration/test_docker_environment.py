"""Environments as images: a real engine, real builds, real containers."""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import docker
from robosmoke.catalog import Benchmark
from robosmoke.errors import SetupError
from robosmoke.host.environments.clean import clean_docker
from robosmoke.host.environments.engine import find_engine
from robosmoke.host.environments.image import DockerBackend, PreparedImage
from robosmoke.host.environments.labels import KEY, STAGE, labels
from robosmoke.manifest import Environment

from .conftest import MakeBenchmark, MakeCall

pytestmark = pytest.mark.docker

MARKER = "robosmoke-test-secret-4711"
SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


@dataclass(frozen=True, kw_only=True)
class Built:
    """The environment that the tests here share, built with secrets in every setting that can hold one."""

    client: docker.DockerClient
    backend: DockerBackend
    benchmark: Benchmark
    environment: Environment
    prepared: PreparedImage


@pytest.fixture(scope="session")
def client() -> Iterator[docker.DockerClient]:
    """Give the engine; without one these tests fail, they do not vanish."""
    engine = find_engine()
    if engine.client is None:
        pytest.fail(f'{engine.problem}: start an engine, or deselect these tests by -m "not docker"', pytrace=False)
    yield engine.client
    engine.client.close()


@pytest.fixture(scope="session")
def links_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve an empty page of links, at an address that holds a password."""
    folder = tmp_path_factory.mktemp("links")
    (folder / "index.html").write_text("<html></html>")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://user:{MARKER}@127.0.0.1:{server.server_port}/index.html"
        server.shutdown()
        thread.join()


# No longer than this module: its settings are the process's own environment variables.
@pytest.fixture(scope="module")
def built(
    client: docker.DockerClient,
    links_page: str,
    make_benchmark: MakeBenchmark,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Built]:
    """Build the shared environment from nothing, and remove what was built of it."""
    folder = tmp_path_factory.mktemp("docker")
    bundle = folder / "bundle.pem"
    authorities = Path(os.environ.get("ROBOSMOKE_CA_BUNDLE", SYSTEM_BUNDLE)).read_text()
    bundle.write_text(f"{authorities}\n# {MARKER}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROBOSMOKE_CACHE", str(folder / "cache"))
        patch.setenv("ROBOSMOKE_CA_BUNDLE", str(bundle))
        patch.setenv("ROBOSMOKE_FIND_LINKS", links_page)
        # The page above is served on this machine.
        patch.setenv("ROBOSMOKE_BUILD_NETWORK", "host")
        patch.setenv("no_proxy", f"127.0.0.1,{MARKER}.invalid")
        benchmark, environment = make_benchmark("six==1.16.0")
        backend = DockerBackend(client)
        prepared = backend.prepare(benchmark, environment, log=folder / "install.log")
        yield Built(client=client, backend=backend, benchmark=benchmark, environment=environment, prepared=prepared)
        clean_docker(client, key=prepared.key)


def left_behind(built: Built) -> list[str]:
    """Name the containers and volumes of the shared environment that exist now."""
    marked: dict[str, str | list[str] | bool] = {"label": f"{KEY}={built.prepared.key}"}
    containers = [str(container.name) for container in built.client.containers.list(all=True, filters=marked)]
    return containers + [str(volume.name) for volume in built.client.volumes.list(filters=marked)]


def test_no_secret_is_in_history_or_layers(built: Built) -> None:
    """Neither the commands nor any byte of the saved image shows a password, bundle or proxy."""
    history = subprocess.run(
        ["docker", "history", "--no-trunc", built.prepared.image], capture_output=True, text=True, check=True
    ).stdout
    assert "COPY" in history
    assert MARKER not in history
    needle, before = MARKER.encode(), b""
    for chunk in built.client.images.get(built.prepared.image).save():
        assert needle not in before + chunk
        before = chunk[-len(needle) :]


def test_no_stage_that_saw_a_secret_is_left(built: Built) -> None:
    """The stages that installed are removed with their layers."""
    stages = {"dangling": True, "label": f"{STAGE}=benchmark-{built.prepared.key}"}
    assert built.client.images.list(all=True, filters=stages) == []  # type: ignore[arg-type]


def test_a_guest_is_confined(built: Built, make_call: MakeCall) -> None:
    """No root, no capabilities, no network, a read-only root; HOME, caches and ``/out`` are writable."""
    code = (
        "import os, pathlib, socket, subprocess\n"
        "print(os.getuid(), os.getgid(), os.listdir('/sys/class/net'))\n"
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith(('CapEff', 'NoNewPrivs'))])\n"
        "print(pathlib.Path('/proc/1/comm').read_text().strip() != 'python')\n"
        "for name in ('/opt/robosmoke/x', '/usr/x', '/x'):\n"
        "    try: open(name, 'w'); print('wrote', name)\n"
        "    except OSError as error: print(error.strerror)\n"
        "for name in ('HOME', 'TMPDIR', 'NUMBA_CACHE_DIR', 'MPLCONFIGDIR', 'MESA_SHADER_CACHE_DIR', 'ROBOSMOKE_OUT'):\n"
        "    folder = pathlib.Path(os.environ[name]); folder.mkdir(parents=True, exist_ok=True)\n"
        "    (folder / 'probe').write_text(name)\n"
        "print(os.statvfs('/dev/shm').f_blocks * os.statvfs('/dev/shm').f_frsize // 2**20)\n"
    )
    end = built.prepared.execute(("-c", code), make_call())
    assert end.exit_code == 0, end.tail
    assert end.tail == (
        "1000 1000 ['lo']", "['0000000000000000', '1']", "True", *["Read-only file system"] * 3, "256",
    )  # fmt: skip


def test_the_request_goes_in_and_results_come_out(built: Built, make_call: MakeCall) -> None:
    """``/out`` has the request; files come back owned by the caller, also from folders; nothing stays."""
    call = make_call()
    call.out.mkdir(parents=True)
    (call.out / "request.json").write_text('{"seed": 3}')
    code = (
        "import pathlib; out = pathlib.Path('/out'); text = (out / 'request.json').read_text()\n"
        "(out / 'videos').mkdir(); (out / 'videos' / 'copy.json').write_text(text)\n"
        "(out / 'request.json').write_text('changed')\n"
    )
    end = built.prepared.execute(("-c", code), call)
    assert end.exit_code == 0, end.tail
    assert (call.out / "videos" / "copy.json").read_text() == '{"seed": 3}'
    assert (call.out / "videos" / "copy.json").stat().st_uid == os.getuid()
    assert (call.out / "request.json").read_text() == '{"seed": 3}'
    assert left_behind(built) == []


@pytest.mark.parametrize(
    ("death", "described"),
    [
        ("import sys; sys.exit(5)", "exit 5"),
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("import os; os._exit(0)", "exit 0"),
        ("import time; time.sleep(600)", "timed out after 3 s"),
        ("x = bytearray(400 * 2**20)\nfor i in range(0, len(x), 4096): x[i] = 1", "out of memory (limit 128 MB)"),
    ],
    ids=["exit", "abort", "segfault", "silent", "hang", "memory"],
)
def test_results_survive_every_death(built: Built, make_call: MakeCall, death: str, described: str) -> None:
    """However a guest ends, the end is named, what it had written comes out, and nothing stays."""
    call = make_call(timeout_s=3.0 if "sleep" in death else 60.0, memory_mb=128)
    end = built.prepared.execute(("-c", f"open('/out/before.txt', 'w').write('x')\nprint('last words')\n{death}"), call)
    assert end.describe() == described
    assert (call.out / "before.txt").read_text() == "x"
    assert end.tail[0] == "last words"
    assert left_behind(built) == []


def test_hostile_results_are_refused_by_name(built: Built, make_call: MakeCall) -> None:
    """Links and pipes are not copied out, the log says which; the rest is."""
    call = make_call()
    code = (
        "import os; os.symlink('/etc/passwd', '/out/soft'); os.mkfifo('/out/pipe')\n"
        "open('/out/good', 'w').write('x'); os.link('/out/good', '/out/hard')\n"
        "open('/out/run.log', 'w').write('forged')\n"
        "print('true log')\n"
    )
    built.prepared.execute(("-c", code), call)
    log = call.log.read_text()
    assert log.startswith("true log\n")
    assert "'out/soft': link to '/etc/passwd'" in log
    assert "'out/pipe': neither a file nor a folder" in log
    assert sorted(path.name for path in call.out.iterdir() if path.is_symlink() or path.is_fifo()) == []
    assert {"good", "hard"} & {path.name for path in call.out.iterdir()}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_stays_when_we_are_stopped(built: Built, tmp_path: Path, number: signal.Signals) -> None:
    """Container and volume go whatever stops us; the results so far come out, unless it is a kill -9."""
    code = (
        "import sys, docker\nfrom pathlib import Path\n"
        "from robosmoke.host.environments.backend import GuestCall\n"
        "from robosmoke.host.environments.container import ContainerRun, run_container\n"
        "image, key, out = sys.argv[1:]\nout = Path(out)\n"
        "call = GuestCall(arguments=(), out=out, log=out / 'run.log', timeout_s=300, memory_mb=256, echo=False)\n"
        "guest = \"open('/out/so-far', 'w').write('x'); print('ready', flush=True); import time; time.sleep(600)\"\n"
        "run_container(docker.from_env(), ContainerRun(image=image, key=key, python_arguments=('-c', guest),"
        " shared_memory_mb=64, call=call))\n"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", code, built.prepared.image, built.prepared.key, str(tmp_path)],
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: (tmp_path / "run.log").exists() and "ready" in (tmp_path / "run.log").read_text())
        assert len(left_behind(built)) == 2
        host.send_signal(number)
        assert host.wait(timeout=30) != 0
    finally:
        host.kill()
        host.wait()
    wait_until(lambda: left_behind(built) == [])
    if number is not signal.SIGKILL:
        assert (tmp_path / "so-far").read_text() == "x"


def test_what_a_killed_host_leaves_is_cleaned_by_label(built: Built, make_call: MakeCall) -> None:
    """A container and volume that nobody watches any more are found and removed."""
    volume = built.client.volumes.create(labels=labels("volume", "orphan-test"))
    built.client.containers.run(
        built.prepared.image, ["sleep", "600"], detach=True, labels=labels("container", "orphan-test"), init=True
    )
    cleaned = clean_docker(built.client, key="orphan-test")
    assert [name.partition(" ")[0] for name in cleaned.removed] == ["container", "volume"]
    assert cleaned.removed[1] == f"volume {volume.name}"


def test_a_second_time_builds_nothing(built: Built, tmp_path: Path) -> None:
    """With nothing changed no build is started."""
    log = tmp_path / "second.log"
    # Once more first: the checkout may have been edited since the shared environment was built.
    first = built.backend.prepare(built.benchmark, built.environment, log=tmp_path / "first.log")
    again = built.backend.prepare(built.benchmark, built.environment, log=log)
    assert first.key == built.prepared.key
    assert again.image == first.image
    assert again.details["installed"] == "no"
    assert log.read_text() == ""


def test_other_code_adds_one_layer(built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed wheel makes a new last layer on the same dependencies, without any installer."""
    from robosmoke.host.environments import image
    from robosmoke.host.environments.wheels import Wheel

    package = tmp_path / "wheel" / "robosmoke"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("EDITED = True\n")
    wheel = Wheel(name="robosmoke", folder=package.parent, digest="ab" * 32)
    monkeypatch.setattr(image, "guest_wheels", lambda *_, **__: (wheel,))
    log = tmp_path / "install.log"
    edited = built.backend.prepare(built.benchmark, built.environment, log=log)
    layers = [built.client.images.get(item.image).attrs["RootFS"]["Layers"] for item in (built.prepared, edited)]
    assert edited.key == built.prepared.key
    assert edited.details["installed"] == "no"
    assert layers[0][:-1] == layers[1][:-1]
    assert layers[0][-1] != layers[1][-1]


def test_a_failing_build_ends_with_its_log(built: Built, make_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    """A package that apt does not know: one line, the last lines of the log, what to do."""
    benchmark, environment = make_benchmark("six==1.16.0", apt=("no-such-package-4711",))
    with pytest.raises(SetupError) as caught:
        built.backend.prepare(benchmark, environment, log=tmp_path / "install.log")
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("docker build of robosmoke/environment:")
    assert "no-such-package-4711" in "\n".join(rest)


def test_a_base_image_nobody_has_is_named(
    built: Built, make_benchmark: MakeBenchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the image and the variable that chooses another."""
    monkeypatch.setenv("ROBOSMOKE_BASE_IMAGE", "localhost:1/no/such:image")
    with pytest.raises(SetupError, match=r"base image localhost:1/no/such:image: .*ROBOSMOKE_BASE_IMAGE"):
        built.backend.prepare(built.benchmark, built.environment, log=tmp_path / "install.log")


def wait_until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Wait for a condition; fail when it does not come."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the awaited condition did not come"
        time.sleep(0.05)
