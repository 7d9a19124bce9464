"""Every check passes on a sound env, and catches its broken twin: the same env with one fault."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import pytest
import robosmoke_mybenchmark
from robosmoke_mybenchmark.env import DiscTableEnv
from robosmoke_mybenchmark.expert import DiscTableExpert

from robosmoke.catalog import BUILTIN_FOLDER
from robosmoke.errors import CheckFailed
from robosmoke.guest.checks.controls import require_rate
from robosmoke.guest.checks.registry import Check, by_code, check, checks
from robosmoke.guest.checks.subject import TaskSubject
from robosmoke.guest.env import Landmark, Tick
from robosmoke.guest.video import VideoWriter
from robosmoke.manifest import Manifest, read_manifest
from robosmoke.schema import Episode, EpisodeRecord, SmokeRequest, write
from robosmoke.vocabulary import Blame, EpisodeStatus

Twin = type[DiscTableEnv]


class OutOfSpace(DiscTableEnv):
    def read_state(self, key):
        return super().read_state(key) + 3


class ExtraKey(DiscTableEnv):
    def observe(self, keys):
        return {**super().observe(keys), "secret": np.zeros(1)}


class Unchecked(DiscTableEnv):
    def _validated(self, actions):
        return np.nan_to_num(np.asarray(actions, np.float64).reshape(len(actions), -1)[:, :2])


class OwnTimeLimit(DiscTableEnv):
    def advance(self, actions):
        outcome = super().advance(actions)
        return outcome if self._steps < 40 else replace(outcome, truncated=True)


class OffByOne(DiscTableEnv):
    def reset(self, **options):
        result = super().reset(**options)
        self._steps = -1
        return result


class OtherWords(DiscTableEnv):
    task_description = "Do something else."


class NoKey(DiscTableEnv):
    def step(self, action):
        *rest, _ = super().step(action)
        return (*rest, {})


class NumpyKey(DiscTableEnv):
    def reset(self, **options):
        observation, info = super().reset(**options)
        return observation, {"success": np.bool_(info["success"])}


class LiveBuffer(DiscTableEnv):
    def observe(self, keys):
        self.buffer = getattr(self, "buffer", np.zeros(4))
        self.buffer[:] = super().observe(("state",))["state"]
        return {**super().observe(keys), "state": self.buffer}


class NanReward(DiscTableEnv):
    def tick(self, action):
        return Tick(float("nan"), super().tick(action).success)


class Undead(DiscTableEnv):
    def _require_open(self):
        return None


class GlobalGenerator(DiscTableEnv):
    def begin(self, seed, init_state):
        started = super().begin(seed, init_state)
        self._sim.position = np.random.uniform(-0.2, 0.2, 2)  # noqa: NPY002
        return started


class IgnoredSeed(DiscTableEnv):
    def begin(self, seed, init_state):
        return super().begin(0, init_state)


class LeftOver(DiscTableEnv):
    def begin(self, seed, init_state):
        drift = self._sim.position * 1e-9 if self._sim is not None else 0.0
        started = super().begin(seed, init_state)
        self._sim.position = self._sim.position + drift
        return started


class Noisy(DiscTableEnv):
    noise = np.random.default_rng()

    def tick(self, action):
        self._sim.velocity = self._sim.velocity + self.noise.normal(0, 1e-12, 2)
        return super().tick(action)


class Blank(DiscTableEnv):
    def picture(self, camera, width_px, height_px):
        return np.zeros((height_px, width_px, 3), np.uint8)


class WrongSize(DiscTableEnv):
    def picture(self, camera, width_px, height_px):
        return super().picture(camera, width_px, height_px + 1)


class UpsideDown(DiscTableEnv):
    def picture(self, camera, width_px, height_px):
        return super().picture(camera, width_px, height_px)[::-1]


class Rotated(DiscTableEnv):
    def picture(self, camera, width_px, height_px):
        return super().picture(camera, width_px, height_px)[::-1, ::-1]


class Unseen(DiscTableEnv):
    def landmark(self, camera) -> Landmark | None:
        return None


class SharedContext(DiscTableEnv):
    current: list[Any] = []

    def begin(self, seed, init_state):
        started = super().begin(seed, init_state)
        self.current[:] = [self._sim]
        return started

    def picture(self, camera, width_px, height_px):
        return self.current[0].draw(width_px, height_px)


class AlwaysSolves(DiscTableEnv):
    def tick(self, action):
        return Tick(1.0, True)


class SolvedAtReset(DiscTableEnv):
    def begin(self, seed, init_state):
        super().begin(seed, init_state)
        return True


class RaisesLate(DiscTableEnv):
    def tick(self, action):
        if self._steps == 3:
            raise RuntimeError("the simulation is unstable")
        return super().tick(action)


class DropsFrame(VideoWriter):
    def add(self, frame):
        if self._frames != 2:
            super().add(frame)
        else:
            self._frames += 1


TWINS: list[tuple[str, Twin, str]] = [
    ("RS201", OutOfSpace, "at reset 'goal' is not in its space"),
    ("RS201", ExtraKey, "'secret'"),
    ("RS202", Unchecked, "was executed without a word"),
    ("RS203", OwnTimeLimit, "truncated after 40 steps, the manifest says 60"),
    ("RS203", OffByOne, "truncated after 61 steps, the manifest says 60"),
    ("RS203", RaisesLate, "the episode broke after 3 steps: RuntimeError: the simulation is unstable"),
    ("RS203", AlwaysSolves, "doing nothing solved the task"),
    ("RS204", OtherWords, "the env says 'Do something else.'"),
    ("RS205", NoKey, "info has no 'success' at step 1"),
    ("RS205", NumpyKey, "at reset"),
    ("RS206", LiveBuffer, "changed ['state'] when the env was stepped"),
    ("RS207", NanReward, "step 1 gave nan"),
    ("RS208", Undead, "a closed env was reset without a word"),
    ("RS301", GlobalGenerator, "with the global generators disturbed"),
    ("RS302", IgnoredSeed, "5 seeds gave 1 distinct world(s)"),
    ("RS304", LeftOver, "after 3 earlier episodes"),
    ("RS307", Noisy, "in the same env"),
    ("RS401", Blank, "fewer than 8 colours"),
    ("RS401", WrongSize, "gave (65, 64, 3) uint8, asked for (64, 64, 3) uint8"),
    ("RS402", UpsideDown, "Most likely it is flipped"),
    ("RS402", Rotated, "Most likely the picture is rotated by 180°"),
    ("RS402", Unseen, "no camera shows the landmark"),
    ("RS403", SharedContext, "renders differently"),
    ("RS601", RaisesLate, "the episode errored after 3 steps (env)"),
    ("RS602", AlwaysSolves, "the zero policy solved reach-left at step 1"),
    ("RS603", AlwaysSolves, "the random policy solved reach-left at step 1"),
    ("RS604", SolvedAtReset, "seed 0 starts in a solved state"),
    ("RS903", RaisesLate, "left no video"),
]


@pytest.fixture
def subject_of(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Twin], TaskSubject]]:
    """Give a maker of subjects for any env class; a new process always runs the sound env."""
    template = str(Path(robosmoke_mybenchmark.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([template, os.environ.get("PYTHONPATH", "")]))
    write(tmp_path / "request.json", SmokeRequest(manifest=manifest, environment="default", tasks=("reach-left",)))
    made: list[TaskSubject] = []

    def make(kind: Twin) -> TaskSubject:
        module = ModuleType("twins.env")
        module.Twin, module.Expert = kind, DiscTableExpert
        monkeypatch.setitem(sys.modules, module.__name__, module)
        twin = msgspec.structs.replace(manifest, package="twins", env="env:Twin", expert="env:Expert")
        subject = TaskSubject(
            manifest=twin,
            task=twin.tasks[0],
            environment="default",
            seed=0,
            out=tmp_path,
            request=tmp_path / "request.json",
        )
        made.append(subject)
        return subject

    yield make
    for subject in made:
        subject.close()


@pytest.mark.parametrize("promise", checks(), ids=lambda promise: promise.label)
def test_a_sound_env_passes(promise: Check, subject_of) -> None:
    promise.function(subject_of(DiscTableEnv))


@pytest.mark.parametrize(("code", "twin", "message"), TWINS, ids=[f"{code}-{twin.__name__}" for code, twin, _ in TWINS])
def test_a_broken_twin_is_caught_with_what_was_seen(code: str, twin: Twin, message: str, subject_of) -> None:
    promise = by_code(code)
    with pytest.raises(CheckFailed) as caught:
        promise.function(subject_of(twin))
    assert str(caught.value).startswith(f"{code} {promise.name}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_check_has_a_broken_twin() -> None:
    assert {code for code, _, _ in TWINS} == {promise.code for promise in checks()}


def test_a_video_that_lost_a_frame_is_caught(subject_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robosmoke.guest.checks.subject.VideoWriter", DropsFrame)
    with pytest.raises(CheckFailed, match=r"holds \d+ frames, the plan for \d+ steps says"):
        by_code("RS903").function(subject_of(DiscTableEnv))


def test_a_fault_that_shows_only_in_a_new_process_is_caught(subject_of) -> None:
    """Here and there the worlds are sound, each for itself, and not the same."""

    class Elsewhere(DiscTableEnv):
        def begin(self, seed, init_state):
            return super().begin(seed + 1, init_state)

    for code in ("RS301", "RS307"):
        with pytest.raises(CheckFailed, match="in a new process"):
            by_code(code).function(subject_of(Elsewhere))


def test_a_code_cannot_be_taken_twice() -> None:
    checks()
    with pytest.raises(ValueError, match="check RS201 is registered twice"):
        check("RS201", "spaces", "again", cost="cheap")(print)


def test_codes_and_names_are_unique_and_ids_cannot_be_confused() -> None:
    labels = [promise.label for promise in checks()]
    assert len({promise.name for promise in checks()}) == len(labels)
    assert not [a for a in labels for b in labels if a != b and a.startswith(f"{b}-")]


def record(task: str, status: EpisodeStatus, success: bool | None, control: str = "expert") -> EpisodeRecord:
    episode = Episode(index=0, benchmark="b", environment="default", suite="s", task=task, seed=0)
    return EpisodeRecord(
        episode=episode,
        policy=control,
        control=control,
        status=status,
        on_success="stop",
        success_any=success,
        blame=Blame.ENV if success is None else None,
    )


DONE, ERRORED = EpisodeStatus.COMPLETED, EpisodeStatus.ERRORED


def rated(manifest: Manifest, rate: float) -> Manifest:
    return msgspec.structs.replace(manifest, smoke=msgspec.structs.replace(manifest.smoke, expert_rate=rate))


def test_the_rate_is_taken_over_all_expert_episodes_and_no_others(manifest: Manifest) -> None:
    episodes = [record("a", DONE, True), record("b", DONE, False), record("a", DONE, False, "zero")]
    assert require_rate(rated(manifest, 0.5), episodes).startswith("1 of 2 ")
    with pytest.raises(CheckFailed, match=r"1 of 2 .*demands 51%; not solved: b"):
        require_rate(rated(manifest, 0.51), episodes)


def test_an_errored_expert_episode_counts_against_the_rate(manifest: Manifest) -> None:
    with pytest.raises(CheckFailed, match="1 errored"):
        require_rate(rated(manifest, 0.6), [record("a", DONE, True), record("b", ERRORED, None)])


@pytest.mark.parametrize("episodes", [[], [record("a", ERRORED, None)], [record("a", DONE, True, "random")]])
def test_without_a_completed_expert_episode_there_is_no_rate(episodes: list[EpisodeRecord], manifest: Manifest) -> None:
    with pytest.raises(CheckFailed, match="no expert episode completed"):
        require_rate(rated(manifest, 0.01), episodes)


@pytest.mark.parametrize("path", sorted(BUILTIN_FOLDER.glob("*/benchmark.toml")), ids=lambda path: path.parent.name)
def test_a_builtin_manifest_expects_faults_of_existing_checks_only(path: Path) -> None:
    assert {fault.check for fault in read_manifest(path).expected} <= {known.code for known in checks()}
