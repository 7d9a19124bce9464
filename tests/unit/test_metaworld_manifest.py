"""What Meta-World's manifest promises before any simulator is installed."""

from __future__ import annotations

from robosmoke.catalog import find

MANIFEST = find("metaworld").manifest


def test_all_fifty_tasks_are_listed() -> None:
    assert len({task.name for task in MANIFEST.tasks}) == 50


def test_six_tasks_are_smoked_and_one_of_them_moves_a_free_object() -> None:
    smoked = {task.name for task in MANIFEST.smoke_tasks}
    assert len(smoked) == 6
    assert smoked & {"push-v3", "pick-place-v3"}


def test_every_task_has_an_instruction_of_its_own() -> None:
    instructions = [task.instruction.strip() for task in MANIFEST.tasks]
    assert all(instructions)
    assert len(set(instructions)) == 50


def test_every_corner_camera_is_turned_upright() -> None:
    turned = {camera.name for camera in MANIFEST.camera if camera.transform == "rotate_180"}
    assert turned == {"corner", "corner2", "corner3", "corner4"}


def test_every_expected_fault_names_a_listed_task() -> None:
    assert {fault.task for fault in MANIFEST.expected} <= {task.name for task in MANIFEST.tasks}


def test_the_import_that_upstream_forgets_to_declare_is_installed() -> None:
    assert "packaging" in MANIFEST.environment["default"].requirements
