"""The user's settings for building environments, read from ``ROBOSMOKE_*`` variables.

Where one of the installer's settings is not given, uv's and pip's own variable for it counts, so
that an image is built from the same places as a venv.

| variable | meaning |
| --- | --- |
| ``ROBOSMOKE_CACHE`` | cache folder, else ``$XDG_CACHE_HOME/robosmoke``, else ``~/.cache/robosmoke`` |
| ``ROBOSMOKE_TORCH`` | where torch comes from: ``cpu`` (default), ``auto``, ``cu126`` …, ``index``, or an index URL |
| ``ROBOSMOKE_INDEX_URL`` | package index to use; may hold a password |
| ``ROBOSMOKE_FIND_LINKS`` | folders or pages of further wheels, with blanks or commas between |
| ``ROBOSMOKE_CA_BUNDLE`` | PEM file of certificate authorities |
| ``ROBOSMOKE_BUILD_NETWORK`` | network mode of ``docker build`` |
| ``ROBOSMOKE_BASE_IMAGE`` | base image for every environment, stronger than the manifest's |
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from robosmoke.errors import SetupError

_URL = re.compile(r"^[a-z]+://")
_UV_TORCH = re.compile(r"^(cpu|auto|cu\d+|rocm[\d.]+|xpu)$")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings above; secrets (index, links) stay out of ``repr``."""

    cache: Path
    torch: str = "cpu"
    index_url: str = field(default="", repr=False)
    find_links: tuple[str, ...] = field(default=(), repr=False)
    ca_bundle: str = ""
    build_network: str = ""
    base_image: str = ""

    def installer_variables(self) -> dict[str, str]:
        """Return the settings as variables that uv and pip both read; never as arguments."""
        variables: dict[str, str] = {}
        if self.index_url:
            variables |= {"UV_DEFAULT_INDEX": self.index_url, "PIP_INDEX_URL": self.index_url}
        if self.find_links:
            variables |= {"UV_FIND_LINKS": ",".join(self.find_links), "PIP_FIND_LINKS": " ".join(self.find_links)}
        if self.ca_bundle:
            variables |= {"SSL_CERT_FILE": self.ca_bundle, "PIP_CERT": self.ca_bundle}
        return variables

    def torch_variables(self, version: str) -> dict[str, str]:
        """Return what uv and pip read besides for torch's own step: its index, or uv's name of a build.

        A folder of links that holds a CPU build of ``version`` serves ``cpu`` without torch's index.
        Raises `SetupError` for a source nobody knows.
        """
        if is_url(self.torch):
            return {"UV_DEFAULT_INDEX": self.torch, "PIP_INDEX_URL": self.torch}
        if self.torch == "index" or (self.torch == "cpu" and self._has_cpu_torch(version)):
            return {}
        if not _UV_TORCH.match(self.torch):
            raise SetupError(f"ROBOSMOKE_TORCH={self.torch}: use cpu, auto, cu126 and the like, index, or an index URL")
        return {"UV_TORCH_BACKEND": self.torch}

    def _has_cpu_torch(self, version: str) -> bool:
        folders = [Path(link) for link in self.find_links if not is_url(link)]
        return any(unquote(path.name).startswith(f"torch-{version}+cpu-") for f in folders for path in f.glob("*.whl"))


def is_url(text: str) -> bool:
    """Tell an address from a folder or a word."""
    return bool(_URL.match(text))


def read_settings(variables: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings from environment variables."""

    def get(*names: str) -> str:
        return next((variables[name] for name in names if variables.get(name)), "")

    return Settings(
        cache=_cache_folder(variables),
        torch=get("ROBOSMOKE_TORCH") or "cpu",
        index_url=get("ROBOSMOKE_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"),
        find_links=_words(get("ROBOSMOKE_FIND_LINKS", "UV_FIND_LINKS", "PIP_FIND_LINKS")),
        ca_bundle=get("ROBOSMOKE_CA_BUNDLE", "SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"),
        build_network=get("ROBOSMOKE_BUILD_NETWORK"),
        base_image=get("ROBOSMOKE_BASE_IMAGE"),
    )


def _cache_folder(variables: Mapping[str, str]) -> Path:
    if variables.get("ROBOSMOKE_CACHE"):
        return Path(variables["ROBOSMOKE_CACHE"]).expanduser().absolute()
    if variables.get("XDG_CACHE_HOME"):
        return Path(variables["XDG_CACHE_HOME"]) / "robosmoke"
    return Path.home() / ".cache" / "robosmoke"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())
