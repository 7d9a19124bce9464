"""The variables a guest starts with: a short list of our own, so that no token leaks in."""

from __future__ import annotations

import os

# What a guest may take over from the host: the machine's choice of GPU and time zone.
PASSED_ON = ("CUDA_VISIBLE_DEVICES", "TZ")


def guest_variables(*, binaries: str, home: str, temporary: str) -> dict[str, str]:
    """Return the variables of a guest whose writable folders are ``home`` and ``temporary``.

    ``binaries`` comes first on PATH. Every cache that a simulator or plotting library would put
    beside its code or into the user's home lies below ``home``.
    """
    return {
        "PATH": f"{binaries}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": home,
        "TMPDIR": temporary,
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "NUMBA_CACHE_DIR": f"{home}/numba",
        "MPLCONFIGDIR": f"{home}/matplotlib",
        # Mesa makes this folder but not the one above it, hence directly below the home.
        "MESA_SHADER_CACHE_DIR": f"{home}/mesa",
        "PYTHONUNBUFFERED": "1",
        "PYTHONNOUSERSITE": "1",
        **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
    }
