"""What robosmoke itself is installed from: its checkout, its base dependencies, its Dockerfiles."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import tomllib
from packaging.requirements import Requirement

import robosmoke
from robosmoke.errors import SetupError

_PACKAGE = Path(robosmoke.__file__).parent


def checkout() -> Path | None:
    """Return the root of the checkout this package is imported from, or None when it is installed."""
    root = _PACKAGE.parent.parent
    return root if _PACKAGE.parent.name == "src" and (root / "pyproject.toml").is_file() else None


def base_dependencies() -> tuple[str, ...]:
    """Return robosmoke's own requirements without extras, sorted; what the guest needs."""
    root = checkout()
    if root is not None:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return tuple(sorted(_normal(text) for text in project["dependencies"]))
    try:
        declared = distribution("robosmoke").requires or []
    except PackageNotFoundError as error:
        raise SetupError("robosmoke is neither a checkout nor installed: install it with pip or uv") from error
    requirements = [Requirement(text) for text in declared]
    return tuple(sorted(str(r) for r in requirements if "extra" not in str(r.marker or "")))


def dockerfile(name: str) -> Path:
    """Return one of the Dockerfiles, from the checkout or from the installed wheel."""
    root = checkout()
    folder = _PACKAGE / "docker" if root is None else root / "docker"
    path = folder / f"{name}.Dockerfile"
    if not path.is_file():
        raise SetupError(f"{path}: is missing: re-install robosmoke")
    return path


def _normal(text: str) -> str:
    return str(Requirement(text))
