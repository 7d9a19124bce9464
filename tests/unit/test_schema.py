"""Records are strict JSON, versioned, written whole or not at all, and described by their JSON Schema."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest

from robosmoke import schema
from robosmoke.errors import RecordError
from robosmoke.schema import (
    Checks,
    Pair,
    Plan,
    SmokeRequest,
    decode,
    encode,
    encode_line,
    read,
    write,
    write_atomically,
)

PLAN = Plan(invocation="i", created="2030-01-01T00:00:00+00:00", pairs=(Pair(benchmark="arm", environment="default"),))


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "plan.json", PLAN)
    assert read(tmp_path / "deep" / "plan.json", Plan) == PLAN


def test_the_guest_gets_the_manifest_exactly_as_the_host_read_it(manifest, tmp_path: Path) -> None:
    request = SmokeRequest(manifest=manifest, environment="default", tasks=("reach-left",), seed=3)
    write(tmp_path / "request.json", request)
    assert read(tmp_path / "request.json", SmokeRequest) == request


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("encoder", [encode, encode_line])
def test_a_number_that_json_cannot_hold_is_refused_with_its_place(number: float, encoder) -> None:
    with pytest.raises(RecordError, match=r"\$\.a\[1\]\.b is -?(nan|inf): a record holds finite numbers or null"):
        encoder({"a": [1.0, {"b": number}]})


def test_a_line_is_one_line_whatever_the_text_holds() -> None:
    line = encode_line({"text": "one\ntwo\r\u2028 é"})
    assert line.count(b"\n") == 1
    assert json.loads(line)["text"] == "one\ntwo\r\u2028 é"


def test_another_major_version_is_refused_and_both_versions_are_named() -> None:
    data = encode(PLAN).replace(b'"1.0"', b'"2.0"')
    with pytest.raises(RecordError, match=r"^a\.json: schema version 2\.0 cannot be read, this robosmoke reads 1\.0$"):
        decode(data, Plan, source="a.json")


def test_another_minor_version_with_an_unknown_field_is_read() -> None:
    data = encode(PLAN).replace(b'"1.0"', b'"1.7", "colour": "red"')
    assert decode(data, Plan, source="a.json").pairs == PLAN.pairs


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Input data was truncated"),
        (b'{"invocation": "i"', "Input data was truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"invocation": 1, "created": "", "pairs": []}', r"Expected `str`, got `int` - at `\$\.invocation`"),
        (b'{"invocation": "i"}', "missing required field `created`"),
        (b'{"invocation": "\xff"}', "Invalid UTF-8"),
        (b'{"invocation": NaN}', "malformed"),
    ],
)
def test_what_is_no_record_is_refused_with_file_and_reason(data: bytes, message: str) -> None:
    with pytest.raises(RecordError, match=rf"^a\.json: is not a Plan record: .*{message}"):
        decode(data, Plan, source="a.json")


def test_a_record_that_is_not_there_is_a_record_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"plan\.json: cannot be read: No such file"):
        read(tmp_path / "plan.json", Plan)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills up between the last byte and the sync."""
    write(tmp_path / "plan.json", PLAN)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(schema.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "plan.json", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
    assert read(tmp_path / "plan.json", Plan) == PLAN


def test_a_refused_record_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        write(tmp_path / "a.json", {"a": math.nan})
    assert not list(tmp_path.iterdir())


def test_a_pairs_folder_is_a_plain_name_whatever_its_environment_is_called() -> None:
    pair = Pair(benchmark="arm", environment="default[mujoco==3.9,a/../b c]")
    assert pair.folder == "arm--default_mujoco==3.9_a_.._b_c_"


def test_records_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        PLAN.invocation = "other"  # type: ignore[misc]


def test_a_record_takes_no_positional_argument() -> None:
    with pytest.raises(TypeError):
        Checks(())  # type: ignore[misc]


def test_every_document_carries_the_schema_version() -> None:
    assert msgspec.json.decode(encode(PLAN))["schema_version"] == schema.SCHEMA_VERSION
