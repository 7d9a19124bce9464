"""The user's settings for building environments, read from ``ROBOSMOKE_*`` variables.

| variable | meaning |
| --- | --- |
| ``ROBOSMOKE_CACHE`` | cache folder, else ``$XDG_CACHE_HOME/robosmoke``, else ``~/.cache/robosmoke`` |
| ``ROBOSMOKE_TORCH`` | where torch comes from: ``cpu`` (default), ``auto``, ``cu126`` …, ``index``, or an index URL |
| ``ROBOSMOKE_INDEX_URL`` | package index to use; may hold a password |
| ``ROBOSMOKE_FIND_LINKS`` | folder or page of further wheels |
| ``ROBOSMOKE_CA_BUNDLE`` | PEM file of certificate authorities |
| ``ROBOSMOKE_BUILD_NETWORK`` | network mode of ``docker build`` |
| ``ROBOSMOKE_BASE_IMAGE`` | base image for every environment, stronger than the manifest's |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "ROBOSMOKE_"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings above; secrets (index, links) stay out of ``repr``."""

    cache: Path
    torch: str = "cpu"
    index_url: str = field(default="", repr=False)
    find_links: str = field(default="", repr=False)
    ca_bundle: str = ""
    build_network: str = ""
    base_image: str = ""

    def installer_variables(self) -> dict[str, str]:
        """Return the settings as variables that uv and pip both read; never as arguments."""
        variables: dict[str, str] = {}
        if self.index_url:
            variables |= {"UV_DEFAULT_INDEX": self.index_url, "PIP_INDEX_URL": self.index_url}
        if self.find_links:
            variables |= {"UV_FIND_LINKS": self.find_links, "PIP_FIND_LINKS": self.find_links}
        if self.ca_bundle:
            variables |= {"SSL_CERT_FILE": self.ca_bundle, "PIP_CERT": self.ca_bundle}
        return variables


def read_settings(variables: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings from environment variables."""

    def get(name: str, default: str = "") -> str:
        return variables.get(PREFIX + name, "") or default

    return Settings(
        cache=_cache_folder(variables),
        torch=get("TORCH", "cpu"),
        index_url=get("INDEX_URL"),
        find_links=get("FIND_LINKS"),
        ca_bundle=get("CA_BUNDLE"),
        build_network=get("BUILD_NETWORK"),
        base_image=get("BASE_IMAGE"),
    )


def _cache_folder(variables: Mapping[str, str]) -> Path:
    if variables.get("ROBOSMOKE_CACHE"):
        return Path(variables["ROBOSMOKE_CACHE"]).expanduser().absolute()
    if variables.get("XDG_CACHE_HOME"):
        return Path(variables["XDG_CACHE_HOME"]) / "robosmoke"
    return Path.home() / ".cache" / "robosmoke"
