"""Make a bare machine ready: .venv with nox, uv and robosmoke; the GL libraries. Standard library only."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Sources of the names: the Debian and Ubuntu packages that hold the library on the left.
LIBRARIES = {
    "EGL": ["libegl1", "libgl1-mesa-dri"],
    "GLESv2": ["libgles2"],
    "GL": ["libgl1"],
    "OSMesa": ["libosmesa6"],
}
ENVIRONMENT = 3


def fail(message: str) -> int:
    """Say in one line what is missing; returns the exit code for a broken environment."""
    print(f"robosmoke: {message}", file=sys.stderr)
    return ENVIRONMENT


def make_venv(folder: Path) -> int:
    """Make the virtual environment, and mark it complete at the very end."""
    if sys.version_info < (3, 11):
        return fail(f"Python {sys.version_info.major}.{sys.version_info.minor} is too old: run make PYTHON=python3.11")
    try:
        import ensurepip  # noqa: F401  (Debian's python3 lacks it, and with it a working venv)
    except ImportError:
        return fail("python3 has no venv module: run `apt-get install python3-venv`")
    python = folder / "bin" / "python"
    uv = [str(folder / "bin" / "uv"), "pip", "install"]
    commands = [
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "uv>=0.9"],
        [*uv, "--quiet", "--python", str(python), "-e", f"{ROOT}[host]", "--group", f"{ROOT}/pyproject.toml:test"],
    ]
    for command in commands:
        if subprocess.run(command, check=False).returncode:
            return fail(f"this failed: {' '.join(command)}")
    (folder / ".complete").touch()
    return 0


def install_libraries() -> int:
    """Install missing GL libraries where that is allowed, else print the one command."""
    packages = [name for library, names in LIBRARIES.items() if not ctypes.util.find_library(library) for name in names]
    if not packages:
        return 0
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    prefix = privilege()
    if prefix is None or shutil.which("apt-get") is None:
        return fail(f"rendering needs libraries that are missing: run `sudo {' '.join(install)}`")
    print(f"robosmoke: installing {' '.join(packages)}", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update"], install):
        if subprocess.run([*prefix, *command], env=environment, stdout=subprocess.DEVNULL, check=False).returncode:
            return fail(f"this failed: {' '.join([*prefix, *command])}")
    return 0


def privilege() -> list[str] | None:
    """Return what to put before a command to run it as root; None where that needs a password."""
    if os.geteuid() == 0:
        return []
    if (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    ):
        return ["sudo", "-n"]
    return None


def main(arguments: list[str]) -> int:
    """Run ``venv FOLDER`` or ``system``."""
    if arguments[:1] == ["venv"]:
        return make_venv(Path(arguments[1]))
    return install_libraries()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
