"""The smaller parts of environments: variables, settings, cache folders, wheels, probes."""

from __future__ import annotations

import json
import threading
import time
import zipfile
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from robosmoke.errors import SetupError
from robosmoke.host.environments import libraries
from robosmoke.host.environments.build import ImageBuild, build_command, fill_context
from robosmoke.host.environments.cache import build_once, forget, locked
from robosmoke.host.environments.clean import clean_cache
from robosmoke.host.environments.doctor import probes
from robosmoke.host.environments.guest_variables import guest_variables
from robosmoke.host.environments.key import torch_source
from robosmoke.host.environments.repack import editable_project, installed_files, repack
from robosmoke.host.environments.settings import read_settings
from robosmoke.host.environments.source import base_dependencies, dockerfile
from robosmoke.manifest import Environment


def test_no_token_reaches_a_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest starts from our own short list, not from the host's variables."""
    for name in (
        "HF_TOKEN",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "PIP_INDEX_URL",
        "ROBOSMOKE_INDEX_URL",
        "PYTHONPATH",
    ):
        monkeypatch.setenv(name, "secret")
    assert "secret" not in guest_variables(binaries="/v/bin", home="/h", temporary="/t").values()


def test_every_cache_of_a_guest_lies_below_its_home() -> None:
    """Nothing is written beside the code or into the user's home."""
    variables = guest_variables(binaries="/v/bin", home="/h", temporary="/t")
    caches = ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "MESA_SHADER_CACHE_DIR")
    assert all(variables[name].startswith("/h/") for name in caches)


def test_the_cache_folder_follows_the_usual_variables() -> None:
    """Our own variable first, then the desktop standard's."""
    assert read_settings({"ROBOSMOKE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}).cache == Path("/a")
    assert read_settings({"XDG_CACHE_HOME": "/b"}).cache == Path("/b/robosmoke")
    assert read_settings({}).cache == Path.home() / ".cache" / "robosmoke"


def test_passwords_stay_out_of_keys_and_messages() -> None:
    """Neither the settings' text nor the name of torch's source shows a password."""
    settings = read_settings(
        {"ROBOSMOKE_INDEX_URL": "https://u:pw1@x.org", "ROBOSMOKE_TORCH": "https://u:pw2@t.org/cpu"}
    )
    assert "pw1" not in repr(settings)
    assert torch_source(Environment(torch="2.13.0"), settings) == "https://t.org/cpu"
    assert torch_source(Environment(), settings) == ""


def test_secrets_stay_out_of_the_build_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings and proxies reach a build by file and variable; its arguments show none of them."""
    bundle = tmp_path / "authorities.pem"
    bundle.write_text("pem")
    monkeypatch.setenv("https_proxy", "http://u:secret@proxy")
    settings = read_settings(
        {
            "ROBOSMOKE_INDEX_URL": "https://u:secret@index",
            "ROBOSMOKE_FIND_LINKS": "https://u:secret@links",
            "ROBOSMOKE_CA_BUNDLE": str(bundle),
            "ROBOSMOKE_TORCH": "https://u:secret@torch",
        }
    )
    build = ImageBuild(
        recipe="base", tag="t", key="k", arguments={"TORCH_VERSION": "2.13.0"}, settings=settings, log=tmp_path / "log"
    )
    command = build_command(build, "stage")
    assert not [argument for argument in command if "secret" in argument]
    assert "--build-arg=https_proxy" in command
    context = tmp_path / "context"
    context.mkdir()
    fill_context(context, build)
    assert (context / "settings" / "installer.sh").read_text().count("secret") == 4
    assert (context / "settings" / "torch.sh").read_text().count("secret") == 2
    assert (context / "settings" / "ca.pem").read_text() == "pem"


def test_only_wanted_wheels_of_a_folder_enter_the_context(tmp_path: Path) -> None:
    """A folder of many gigabytes is not copied for the one wheel that a lock names."""
    links = tmp_path / "links"
    links.mkdir()
    for name in ("Torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl", "other-1-py3-none-any.whl"):
        (links / name).write_text("")
    build = ImageBuild(
        recipe="base",
        tag="t",
        key="k",
        arguments={},
        settings=read_settings({"ROBOSMOKE_FIND_LINKS": str(links)}),
        log=tmp_path / "log",
        wanted=frozenset({"torch"}),
    )
    context = tmp_path / "context"
    context.mkdir()
    fill_context(context, build)
    assert [path.name[:5] for path in (context / "settings" / "links").iterdir()] == ["Torch"]


def test_an_image_is_built_from_where_the_installers_look() -> None:
    """uv's and pip's own variables count where ours are not set."""
    settings = read_settings({"PIP_FIND_LINKS": "/a /b", "PIP_INDEX_URL": "https://i.org", "SSL_CERT_FILE": "/c.pem"})
    assert settings.find_links == ("/a", "/b")
    assert settings.installer_variables()["UV_FIND_LINKS"] == "/a,/b"
    assert (settings.index_url, settings.ca_bundle) == ("https://i.org", "/c.pem")
    assert read_settings({"PIP_FIND_LINKS": "/a", "ROBOSMOKE_FIND_LINKS": "/z"}).find_links == ("/z",)


def test_a_cpu_torch_at_hand_needs_no_index_of_its_own(tmp_path: Path) -> None:
    """Only a CPU build of the very version in a folder of links does; else uv is asked for one."""
    (tmp_path / "torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl").touch()
    settings = read_settings({"ROBOSMOKE_FIND_LINKS": str(tmp_path)})
    assert settings.torch_variables("2.13.0") == {}
    assert settings.torch_variables("2.12.0") == {"UV_TORCH_BACKEND": "cpu"}
    with pytest.raises(SetupError, match="ROBOSMOKE_TORCH=gpu"):
        read_settings({"ROBOSMOKE_TORCH": "gpu"}).torch_variables("2.13.0")


def test_cleaning_the_cache_leaves_what_is_being_built(tmp_path: Path) -> None:
    """A folder whose builder holds its lock stays; the others go."""
    for name in ("done", "building"):
        (tmp_path / "environments" / name).mkdir(parents=True)
    with locked(tmp_path / "environments" / "building"):
        cleaned = clean_cache(tmp_path)
    assert [Path(name).name for name in cleaned.removed] == ["done"]
    assert [Path(name).name for name in cleaned.left] == ["building"]
    assert not (tmp_path / "environments" / "done").exists()


def nothing(_folder: Path) -> dict[str, str]:
    """Build an empty folder."""
    return {}


def test_a_folder_is_built_once(tmp_path: Path) -> None:
    """Two builders at once: one builds, the other waits for it and finds it complete."""
    calls: list[str] = []

    def build(folder: Path) -> dict[str, str]:
        calls.append("built")
        time.sleep(0.2)
        return {"python": "3.11"}

    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(build_once(tmp_path / "x", build).built)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == ["built"]
    assert sorted(found) == [False, False, True]


def test_an_interrupted_folder_is_built_again_from_nothing(tmp_path: Path) -> None:
    """What a failed or forgotten build left is gone before the next one starts."""
    path = tmp_path / "x"

    def fail(folder: Path) -> dict[str, str]:
        (folder / "half").write_text("")
        raise SetupError("no network")

    with pytest.raises(SetupError):
        build_once(path, fail)
    assert build_once(path, nothing).built
    assert not (path / "half").exists()
    forget(path)
    assert build_once(path, nothing).built


def test_a_cache_that_cannot_be_written_names_the_variable(tmp_path: Path) -> None:
    """The error says which folder, and how to choose another."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="ROBOSMOKE_CACHE"):
        build_once(tmp_path / "file" / "x", nothing)


def install(site: Path, *, direct_url: dict[str, object] | None = None) -> Distribution:
    """Lay out an installed distribution by hand, as an installer does."""
    info = site / "third_party-1.0.dist-info"
    files = {
        "third_party/__init__.py": "x = 1\n",
        "third_party/benchmark.toml": "schema = 1\n",
        "third_party-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n",
        "third_party-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "third_party-1.0.dist-info/entry_points.txt": "[robosmoke.benchmarks]\nthird = third_party\n",
        "third_party-1.0.dist-info/INSTALLER": "x\n",
    }
    if direct_url is not None:
        files["third_party-1.0.dist-info/direct_url.json"] = json.dumps(direct_url)
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    listed = [
        *files,
        "third_party/__pycache__/__init__.cpython-311.pyc",
        "../../bin/third",
        "third_party-1.0.dist-info/RECORD",
    ]
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in listed))
    return PathDistribution(info)


def test_an_installed_distribution_becomes_a_wheel_again(tmp_path: Path) -> None:
    """Package, data and entry points are in it; byte code, scripts and the installer's notes are not."""
    found = install(tmp_path / "site")
    wheels = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        wheels.append(repack(found, installed_files(found), tmp_path / name))
    with zipfile.ZipFile(wheels[0]) as archive:
        assert sorted(name.rpartition("/")[2] for name in archive.namelist()) == [
            "METADATA", "RECORD", "WHEEL", "__init__.py", "benchmark.toml", "entry_points.txt",
        ]  # fmt: skip
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_a_damaged_installation_is_named(tmp_path: Path) -> None:
    """A file that RECORD lists and nobody finds is an error, not a thinner wheel."""
    found = install(tmp_path)
    (tmp_path / "third_party" / "benchmark.toml").unlink()
    with pytest.raises(SetupError, match=r"third_party/benchmark\.toml is gone"):
        installed_files(found)


def test_an_editable_installation_leads_to_its_project(tmp_path: Path) -> None:
    """Only an editable one does, also through a path with a blank."""
    direct = {"url": "file:///home/a%20b/project", "dir_info": {"editable": True}}
    assert editable_project(install(tmp_path / "a", direct_url=direct)) == Path("/home/a b/project")
    assert editable_project(install(tmp_path / "b", direct_url={"url": "file:///x", "dir_info": {}})) is None
    assert editable_project(install(tmp_path / "c")) is None


def test_missing_libraries_give_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the library and the one apt command that brings it."""
    monkeypatch.setattr(libraries, "_linker_cache", lambda: frozenset({"libGL.so.1"}))
    environment = Environment(name="default", variables={"MUJOCO_GL": "egl"})
    with pytest.raises(SetupError, match=r"libEGL\.so\.1: run '.*apt-get install .*libegl1 "):
        libraries.require_libraries(environment)
    libraries.require_libraries(Environment(name="default", apt=("libgl1",)))


def test_an_unknown_package_is_asked_of_dpkg(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package counts as there under a new name that provides the old one."""
    monkeypatch.setattr(libraries, "_dpkg_names", lambda: frozenset({"libglib2.0-0"}))
    assert libraries.missing_packages(("libglib2.0-0", "ffmpeg")) == ("ffmpeg",)


def test_every_probe_that_is_not_well_has_a_fix() -> None:
    """A complaint comes with the command that ends it."""
    found = probes()
    assert len({probe.name for probe in found}) == len(found) == 8
    assert all(probe.ok or probe.fix for probe in found)


def test_recipes_and_dependencies_are_found_in_a_checkout() -> None:
    """The Dockerfiles and the guest's own requirements need no installed distribution."""
    assert all(dockerfile(name).is_file() for name in ("base", "benchmark", "wheels"))
    assert any(text.startswith("msgspec") for text in base_dependencies())
