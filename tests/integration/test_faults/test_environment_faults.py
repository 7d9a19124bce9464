"""An environment that cannot be made is a broken run, in one line that says what to do."""

from __future__ import annotations

import re


def test_a_lock_with_a_wrong_hash_installs_nothing(faulty, tmp_path):
    damaged = faulty.copied(tmp_path / "site")
    lock = damaged.lock.read_text()
    damaged.lock.write_text(re.sub(r"(?<=--hash=sha256:)[0-9a-f]{8}", "00000000", lock))
    smoked = damaged.smoke()
    smoked.assert_red(verdict="broken", blame="environment", exit_code=3)
    assert "environment default: installing lock failed" in smoked.run["reason"]
    assert "hash" in smoked.run["reason"].lower()


def test_a_lock_that_does_not_exist_is_named(faulty, tmp_path):
    damaged = faulty.copied(tmp_path / "site")
    damaged.lock.unlink()
    smoked = damaged.smoke()
    smoked.assert_red(verdict="broken", blame="environment", exit_code=3)
    assert str(damaged.lock) in smoked.run["reason"]
    assert "lock'" in smoked.run["reason"]


def test_an_engine_that_is_not_there_is_named(faulty):
    smoked = faulty.smoke("--backend", "docker", DOCKER_HOST="unix:///nonexistent.sock")
    smoked.assert_red(verdict="broken", blame="environment", exit_code=3)
    assert "backend docker" in smoked.run["reason"]
    assert "--backend venv" in smoked.run["reason"]
