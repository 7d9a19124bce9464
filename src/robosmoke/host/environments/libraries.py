"""The system libraries that rendering needs: which are missing, and the command that adds them."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess

from robosmoke.errors import SetupError
from robosmoke.manifest import Environment

# The shared library behind each value of MUJOCO_GL, and the one that an apt package brings.
RENDERERS = {"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8", "glx": "libGL.so.1", "glfw": "libGL.so.1"}
PACKAGED = {
    "libegl1": "libEGL.so.1",
    "libgles2": "libGLESv2.so.2",
    "libgl1": "libGL.so.1",
    "libosmesa6": "libOSMesa.so.8",
}
GL_PACKAGES = ("libegl1", "libgl1-mesa-dri", "libgles2", "libgl1", "libosmesa6")


def missing_libraries(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of some sonames that the dynamic linker does not know."""
    known = _linker_cache()
    if known is not None:
        return tuple(name for name in names if name not in known)
    stems = {name: name.removeprefix("lib").partition(".so")[0] for name in names}
    return tuple(name for name in names if ctypes.util.find_library(stems[name]) is None)


def missing_packages(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of some apt packages that are not installed.

    A package with a known library counts as present when the linker finds that, whoever installed
    it; the others when dpkg has them, also under a new name that provides the old one. Where there
    is no dpkg, only the libraries are looked at.
    """
    absent = missing_libraries(tuple(PACKAGED[name] for name in names if name in PACKAGED))
    missing = [name for name in names if PACKAGED.get(name) in absent]
    unknown = [name for name in names if name not in PACKAGED]
    installed = _dpkg_names() if unknown else None
    if installed is not None:
        missing += [name for name in unknown if name not in installed]
    return tuple(missing)


def apt_command(packages: tuple[str, ...]) -> str:
    """Return the one command that installs some apt packages."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install -y --no-install-recommends {' '.join(packages)}"


def require_libraries(environment: Environment) -> None:
    """Raise `SetupError` with the command to run when an environment's libraries are missing here."""
    renderer = RENDERERS.get(environment.variables.get("MUJOCO_GL", ""))
    libraries = missing_libraries((renderer,) if renderer else ())
    packages = dict.fromkeys((*(GL_PACKAGES if libraries else ()), *missing_packages(environment.apt)))
    if packages:
        raise SetupError(
            f"environment {environment.label}: this machine lacks {', '.join(libraries or packages)}:"
            f" run '{apt_command(tuple(packages))}'"
        )


def _dpkg_names() -> frozenset[str] | None:
    """Return the names of the installed packages and of what they provide; None without dpkg."""
    dpkg = shutil.which("dpkg-query")
    if dpkg is None:
        return None
    answer = subprocess.run(
        [dpkg, "--show", "--showformat=${db:Status-Status}\t${Package}\t${Provides}\n"],
        capture_output=True,
        text=True,
        check=False,
    )
    names: set[str] = set()
    for line in answer.stdout.splitlines():
        status, package, provides = line.split("\t")
        if status == "installed":
            names |= {package, *(name.split()[0] for name in provides.split(",") if name.strip())}
    return frozenset(names)


def _linker_cache() -> frozenset[str] | None:
    ldconfig = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    if ldconfig is None:
        return None
    answer = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return None
    return frozenset(line.split()[0] for line in answer.stdout.splitlines() if "=>" in line)
