"""Run one guest call in a container, and bring its results out, whatever happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from docker.models.volumes import Volume

import docker
from robosmoke.errors import SetupError
from robosmoke.host.environments.archive import extract, pack
from robosmoke.host.environments.backend import OUT_VARIABLE, GuestCall, ProcessEnd
from robosmoke.host.environments.disk import explain, writing
from robosmoke.host.environments.guest_variables import guest_variables
from robosmoke.host.environments.labels import labels
from robosmoke.host.environments.logfile import LogFollower
from robosmoke.host.environments.process import signal_name
from robosmoke.host.environments.stopping import exit_on_termination
from robosmoke.host.environments.warden import Warden

USER = 1000
OUT = "/out"
HOME = "/home/robosmoke"
TEMPORARY = "/tmp"  # noqa: S108  (a tmpfs of the container's own)
REQUEST = "request.json"
# What a guest may find in its run folder: its request, or the evaluation that it continues.
_SENT = (REQUEST, "plan.json", "episodes.jsonl", "provenance.json")
# The run folder's files that the host writes: a guest's version of them is not taken.
_HOST_FILES = frozenset({REQUEST, "install.log"})
_REMOVE = 'docker rm --force --volumes "$1"; docker volume rm --force "$2"'
_PROCESSES = 2048
_POLL_S = 0.2
_GRACE_S = 5
_LOG_END_S = 10.0
_ADVICE = "choose another run folder"


@dataclass(frozen=True, kw_only=True)
class ContainerRun:
    """One container: the image by digest, the Python arguments, and the call with its limits."""

    image: str
    key: str
    python_arguments: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    shared_memory_mb: int
    call: GuestCall


def run_container(client: docker.DockerClient, run: ContainerRun) -> ProcessEnd:
    """Run to the end or the deadline, copy ``/out`` into the run folder, remove everything.

    Raises `SetupError` when the engine refuses or is lost; the copy is made then too where it can be.
    """
    call = run.call
    out, log = call.out.absolute(), call.log.absolute()
    with writing(out, _ADVICE):
        out.mkdir(parents=True, exist_ok=True)
        log.parent.mkdir(parents=True, exist_ok=True)
    follower = LogFollower(log, echo=call.echo)
    try:
        with (
            exit_on_termination(),
            _volume(client, run) as volume,
            _container(client, run, volume) as container,
            Warden(_REMOVE, str(container.id), str(volume.name)),
        ):
            _send_inputs(container, out)
            try:
                end = _run_to_end(container, run, follower)
            finally:
                # Also when we are interrupted: what was written so far is worth having.
                _bring_out(container, out, log)
    except (DockerException, requests.RequestException) as error:
        raise SetupError(
            f"docker: the container of {run.image} could not be run: {error}: is the engine well?"
        ) from error
    finally:
        follower.close()
    return end


@contextmanager
def _volume(client: docker.DockerClient, run: ContainerRun) -> Iterator[Volume]:
    volume = client.volumes.create(labels=labels("volume", run.key))
    try:
        yield volume
    finally:
        volume.remove(force=True)


@contextmanager
def _container(client: docker.DockerClient, run: ContainerRun, volume: Volume) -> Iterator[Container]:
    call = run.call
    binaries = "/opt/robosmoke/venv/bin"
    memory = f"{call.memory_mb}m"
    container = client.containers.create(
        run.image,
        command=[f"{binaries}/python", *run.python_arguments],
        user=f"{USER}:{USER}",
        working_dir=TEMPORARY,
        init=True,
        read_only=True,
        # Compilers of kernels load what they wrote to the temporary folder, hence exec.
        tmpfs={TEMPORARY: "exec,mode=1777", HOME: f"exec,mode=0755,uid={USER},gid={USER}"},
        volumes={volume.name: {"bind": OUT, "mode": "rw"}},
        network_mode="bridge" if call.network else "none",
        mem_limit=memory,
        memswap_limit=memory,
        shm_size=f"{run.shared_memory_mb}m",
        pids_limit=_PROCESSES,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        labels=labels("container", run.key),
        environment={
            **guest_variables(binaries=binaries, home=HOME, temporary=TEMPORARY),
            **run.variables,
            OUT_VARIABLE: OUT,
        },
    )
    try:
        yield container
    finally:
        container.remove(force=True, v=True)


def _send_inputs(container: Container, out: Path) -> None:
    files = {name: (out / name).read_bytes() for name in _SENT if (out / name).is_file()}
    if files:
        container.put_archive(OUT, pack(files, uid=USER))


def _run_to_end(container: Container, run: ContainerRun, follower: LogFollower) -> ProcessEnd:
    call = run.call
    started = time.monotonic()
    stream = container.attach(stdout=True, stderr=True, stream=True)
    writer = _LogWriter(stream, call.log.absolute())
    try:
        writer.start()
        container.start()
        timed_out = _wait(container, started + call.timeout_s, follower)
        writer.join(_LOG_END_S)
    finally:
        stream.close()
        # The SDK's close only shuts the socket down; the response still holds the descriptor.
        stream._response.close()  # type: ignore[attr-defined]
    wall_s = time.monotonic() - started
    state = container.attrs["State"]
    code = int(state["ExitCode"])
    if writer.error is not None:
        raise SetupError(f"{call.log}: cannot be written: {explain(writer.error, _ADVICE)}")
    # The init process reports a child's death by a signal as 128 + its number.
    died = not timed_out and 128 < code < 128 + 65
    return ProcessEnd(
        exit_code=None if died else code,
        signal=signal_name(code - 128) if died else None,
        timed_out=timed_out,
        out_of_memory=bool(state["OOMKilled"]),
        wall_s=wall_s,
        tail=follower.tail(),
        timeout_s=call.timeout_s,
        memory_mb=call.memory_mb,
    )


def _wait(container: Container, deadline: float, follower: LogFollower) -> bool:
    """Wait until the container has stopped; stop it at the deadline and return True then."""
    while True:
        container.reload()
        follower.follow()
        if container.status in ("exited", "dead"):
            return False
        if time.monotonic() >= deadline:
            container.stop(timeout=_GRACE_S)
            container.reload()
            return True
        time.sleep(_POLL_S)


def _bring_out(container: Container, out: Path, log: Path) -> None:
    """Copy ``/out`` into the run folder; what is refused is said at the end of the log."""
    _stop(container)
    chunks, _ = container.get_archive(OUT)
    keep = _HOST_FILES | ({str(log.relative_to(out))} if log.is_relative_to(out) else set())
    with writing(out, _ADVICE):
        extraction = extract(chunks, out, strip=1, keep=keep)
        if extraction.refused:
            with log.open("a", encoding="utf-8") as file:
                file.writelines(f"robosmoke: not copied out of the container: {line}\n" for line in extraction.refused)


def _stop(container: Container) -> None:
    try:
        container.kill()
    except NotFound:
        raise
    except APIError:
        # It is not running: there is nothing to stop.
        return


class _LogWriter(threading.Thread):
    """Write the container's output to the log as it comes; goes on reading when the disk is full."""

    def __init__(self, stream: Iterator[bytes], log: Path) -> None:
        super().__init__(daemon=True, name="container-log")
        self._stream = stream
        self._log = log
        self.error: OSError | None = None

    def run(self) -> None:
        """Copy the stream to its end."""
        with self._log.open("ab", buffering=0) as file:
            for chunk in self._stream:
                if self.error is not None:
                    continue
                try:
                    file.write(chunk)
                except OSError as error:
                    self.error = error
