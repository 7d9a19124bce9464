"""Run ``docker build`` on a context made for it, keeping secrets out of arguments and layers."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from docker.errors import DockerException
from packaging.utils import canonicalize_name

import docker
from robosmoke.errors import SetupError
from robosmoke.host.environments.disk import writing
from robosmoke.host.environments.labels import STAGE, labels
from robosmoke.host.environments.process import Job, require_success, run_job
from robosmoke.host.environments.settings import Settings, is_url
from robosmoke.host.environments.source import dockerfile

_TIMEOUT_S = 3600.0
# Arguments every builder knows and keeps out of the history; their values come from our environment.
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")
_IN_IMAGE = "/tmp/settings"  # noqa: S108  (a path inside a build stage)


@dataclass(frozen=True, kw_only=True)
class ImageBuild:
    """One image to build: ``recipe`` names the Dockerfile, ``arguments`` hold nothing secret.

    ``files`` (text) and ``folders`` (copied) are its context, beside the settings when
    ``installs`` says that a stage of it uses an installer.
    """

    recipe: str
    tag: str
    key: str
    arguments: Mapping[str, str]
    settings: Settings = field(repr=False)
    log: Path
    files: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)
    installs: bool = True
    wanted: frozenset[str] = frozenset()


def build_image(client: docker.DockerClient, build: ImageBuild) -> None:
    """Build and tag an image; the stages that saw the settings are removed, built or not.

    Raises `SetupError` with the last lines of the build's log.
    """
    with tempfile.TemporaryDirectory(prefix="robosmoke-build-") as temporary:
        context = Path(temporary)
        with writing(context, "set TMPDIR to another folder"):
            fill_context(context, build)
        stage = f"{build.recipe}-{build.key}"
        try:
            end = run_job(
                Job(
                    command=build_command(build, stage),
                    # The plain log of BuildKit, where that is the builder.
                    variables={**os.environ, "BUILDKIT_PROGRESS": "plain"},
                    folder=context,
                    log=build.log,
                    timeout_s=_TIMEOUT_S,
                )
            )
        finally:
            _remove_stages(client, stage)
    advice = (
        f"see {build.log}; the network (ROBOSMOKE_BUILD_NETWORK, ROBOSMOKE_CA_BUNDLE) and the lock are usual causes"
    )
    require_success(end, f"docker build of {build.tag} failed", advice)


def build_command(build: ImageBuild, stage: str) -> tuple[str, ...]:
    """Return the command that builds an image from the current folder; nothing secret is in it."""
    arguments = [f"--build-arg={name}={value}" for name, value in build.arguments.items() if value]
    if build.installs:
        arguments.append(f"--build-arg=STAGE_LABEL={stage}")
    proxies = [name for proxy in _PROXIES for name in (proxy, proxy.upper()) if name in os.environ]
    network = (f"--network={build.settings.build_network}",) if build.settings.build_network else ()
    return (
        *("docker", "build", "--file", "Dockerfile", "--tag", build.tag, "--force-rm"),
        *(f"--label={name}={value}" for name, value in labels(build.recipe, build.key).items()),
        *arguments,
        *(f"--build-arg={name}" for name in proxies),
        *network,
        ".",
    )


def fill_context(context: Path, build: ImageBuild) -> None:
    """Write the Dockerfile, the build's files and the settings into the empty folder ``context``."""
    shutil.copy(dockerfile(build.recipe), context / "Dockerfile")
    for name, text in build.files.items():
        (context / name).write_text(text, encoding="utf-8")
    for name, folder in build.folders.items():
        shutil.copytree(folder, context / name, ignore=shutil.ignore_patterns("__pycache__"))
    if build.installs:
        _write_settings(context / "settings", build)
    # The image's user is another one: a private umask here would lock it out.
    for path in (context, *context.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _write_settings(folder: Path, build: ImageBuild) -> None:
    """Write the settings as shell scripts that the installing stages source."""
    settings = build.settings
    folder.mkdir()
    variables = settings.installer_variables()
    if settings.ca_bundle:
        _copy(Path(settings.ca_bundle), folder / "ca.pem", "ROBOSMOKE_CA_BUNDLE")
        inside = f"{_IN_IMAGE}/ca.pem"
        variables |= {"SSL_CERT_FILE": inside, "PIP_CERT": inside}
    links = [link for link in settings.find_links if is_url(link)]
    folders = [Path(link) for link in settings.find_links if not is_url(link)]
    if folders:
        _copy_links(folders, folder / "links", build.wanted)
        links.append(f"{_IN_IMAGE}/links")
    if links:
        variables |= {"UV_FIND_LINKS": ",".join(links), "PIP_FIND_LINKS": " ".join(links)}
    torch = settings.torch_variables(build.arguments["TORCH_VERSION"]) if build.arguments.get("TORCH_VERSION") else {}
    (folder / "installer.sh").write_text(_exports(variables), encoding="utf-8")
    (folder / "torch.sh").write_text(_exports(torch), encoding="utf-8")


def _exports(variables: Mapping[str, str]) -> str:
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(variables.items()))


def _copy(source: Path, target: Path, variable: str) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise SetupError(f"{variable}={source}: cannot be read: {error.strerror}") from error


def _copy_links(sources: list[Path], target: Path, wanted: frozenset[str]) -> None:
    """Copy from folders of wheels those that the build can want: they may hold many gigabytes."""
    target.mkdir()
    for source in sources:
        if not source.is_dir():
            raise SetupError(
                f"ROBOSMOKE_FIND_LINKS: {source} is no folder: correct it, here or in pip's or uv's variable"
            )
        for path in source.iterdir():
            if path.is_file() and canonicalize_name(path.name.partition("-")[0]) in wanted:
                shutil.copyfile(path, target / path.name)


def _remove_stages(client: docker.DockerClient, stage: str) -> None:
    """Remove the untagged images of the stages that installed; an engine that is gone keeps them."""
    try:
        client.images.prune(filters={"dangling": True, "label": f"{STAGE}={stage}"})
    except DockerException as error:
        raise SetupError(f"docker build: its stages could not be removed: {error}: run 'robosmoke clean'") from error
