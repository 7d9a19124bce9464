"""Import hf-libero without its side effects, and build its env of one task.

Non-obvious behaviour:

- Importing ``libero`` asks questions on standard input unless a config file exists. One is written into a
  temporary folder of this process, with the true paths, and removed at exit; no home folder is touched.
- The config's ``assets`` path is read by nobody. Upstream keeps the folder it found in a private module
  variable, so that is set, before the modules that read it are imported.
- Importing robosuite opens a log file of a fixed name in the system's temporary folder, which a second user
  of the machine cannot open. Its settings module is loaded ahead of it to switch that off, and to silence the
  advice that it prints.
- Upstream's ``ControlEnv.reset`` repeats for ever whatever goes wrong. It is not used: the env inside it is
  built here with the arguments that ``ControlEnv`` gives it, without cameras, observables or a horizon.
- Upstream resets by compiling the scene again, which lists the samplers of drawers and stoves once more each
  time: the n-th reset draws each n + 1 times. Resets here compile nothing, and each draws as upstream's first one
  does; what they would leave behind is put back by `robosmoke.benchmarks.libero.world`.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import shutil
import sys
import tempfile
from functools import lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosmoke.benchmarks.libero.assets import find_assets
from robosmoke.errors import SetupError
from robosmoke.manifest import Task

CONTROL_HZ = 20
_CONFIG_VARIABLE = "LIBERO_CONFIG_PATH"


def make_problem(task: Task) -> Any:
    """Build LIBERO's env (upstream calls it a problem) of one task, its model compiled and its sim made.

    It has no renderer, never ends by itself and computes no observation. Its placement is drawn from
    NumPy's global generator. Raises `SetupError` for a missing or incomplete installation.
    """
    folder = import_libero()
    bddl = folder / "bddl_files" / task.suite / f"{task.name}.bddl"
    if not bddl.is_file():
        raise SetupError(f"libero: {bddl} is missing: install hf-libero again")
    import robosuite
    from libero.libero.envs import TASK_MAPPING
    from libero.libero.envs.bddl_utils import get_problem_info

    problem = TASK_MAPPING[get_problem_info(str(bddl))["problem_name"]](
        str(bddl),
        robots=["Panda"],
        controller_configs=robosuite.load_controller_config(default_controller="OSC_POSE"),
        gripper_types="default",
        initialization_noise=None,
        use_camera_obs=False,
        has_renderer=False,
        has_offscreen_renderer=False,
        control_freq=CONTROL_HZ,
        ignore_done=True,
        hard_reset=False,
    )
    for observable in problem._observables.values():
        observable.set_enabled(False)
    # As in upstream's first reset, so that one seed places fixtures where it does there.
    problem.object_property_initializers *= 2
    return problem


def load_init_states(task: Task) -> NDArray[np.float64]:
    """Read LIBERO's stored init states of a task: float64 [50, 1 + nq + nv] (time, qpos, qvel).

    The file is unpickled with nothing allowed but NumPy arrays. Raises `SetupError`.
    """
    import torch

    path = import_libero() / "init_files" / task.suite / f"{task.name}.pruned_init"
    if not path.is_file():
        raise SetupError(f"libero: {path} is missing: install hf-libero again")
    multiarray = importlib.import_module("numpy._core.multiarray")
    reconstruct = multiarray._reconstruct
    # The files name NumPy 1's module; NumPy 2 has it elsewhere.
    allowed: list[Any] = [(reconstruct, "numpy.core.multiarray._reconstruct"), np.ndarray, np.dtype]
    allowed.append(type(np.dtype(np.float64)))
    with torch.serialization.safe_globals(allowed):
        states = torch.load(path, weights_only=True)
    return np.asarray(states, np.float64)


@lru_cache(maxsize=1)
def import_libero() -> Path:
    """Import hf-libero once per process, quietly; return its package folder ``libero/libero``.

    Raises `SetupError` when it or its assets are not installed.
    """
    spec = find_spec("libero")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("libero: hf-libero is not installed in this environment: install hf-libero==0.1.4")
    folder = Path(next(iter(spec.submodule_search_locations))) / "libero"
    assets = find_assets(folder)
    _preload_robosuite_settings()
    _import_configured(folder, assets)
    sys.modules["libero.libero"]._assets_path_cache = str(assets)  # type: ignore[attr-defined]
    importlib.import_module("libero.libero.envs")
    return folder


def _import_configured(folder: Path, assets: Path) -> None:
    """Import ``libero.libero`` with a config file of this process in place, whatever the user's own is."""
    config = Path(tempfile.mkdtemp(prefix="robosmoke-libero-"))
    atexit.register(shutil.rmtree, config, ignore_errors=True)
    paths = {
        "benchmark_root": folder,
        "bddl_files": folder / "bddl_files",
        "init_states": folder / "init_files",
        "datasets": folder.parent / "datasets",
        "assets": assets,
    }
    # JSON is YAML.
    (config / "config.yaml").write_text(json.dumps({key: str(path) for key, path in paths.items()}))
    before = os.environ.get(_CONFIG_VARIABLE)
    os.environ[_CONFIG_VARIABLE] = str(config)
    try:
        importlib.import_module("libero.libero")
    finally:
        if before is None:
            del os.environ[_CONFIG_VARIABLE]
        else:
            os.environ[_CONFIG_VARIABLE] = before


def _preload_robosuite_settings() -> None:
    spec = find_spec("robosuite")
    if spec is None or spec.origin is None:
        raise SetupError("libero: robosuite is not installed in this environment: install robosuite==1.4.0")
    if "robosuite" in sys.modules:
        return
    name = "robosuite.macros"
    settings_spec = spec_from_file_location(name, Path(spec.origin).with_name("macros.py"))
    assert settings_spec is not None
    assert settings_spec.loader is not None
    settings: Any = module_from_spec(settings_spec)
    settings_spec.loader.exec_module(settings)
    settings.FILE_LOGGING_LEVEL = None
    settings.CONSOLE_LOGGING_LEVEL = "ERROR"
    sys.modules[name] = settings
