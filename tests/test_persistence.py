"""The model folder under attack: truncated, altered, newer, or something else altogether."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from zipfel.errors import ModelFileError
from zipfel.persistence import ModelFiles, folder_size, load_model, read_config, save_model

FILES = ModelFiles(
    config={"method": "knn", "params": {"n_neighbors": 3}},
    arrays={"a": np.arange(6, dtype=np.float32).reshape(2, 3), "empty": np.zeros(0, dtype=np.int64)},
    documents={"labels": ["ä", "b\nc"]},
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", FILES)
    return tmp_path / "model"


def test_what_was_saved_is_loaded(model: Path) -> None:
    loaded = load_model(model)
    assert loaded.config["params"] == {"n_neighbors": 3}
    assert loaded.documents["labels"] == ["ä", "b\nc"]
    np.testing.assert_array_equal(loaded.arrays["a"], FILES.arrays["a"])
    assert loaded.arrays["empty"].shape == (0,)
    assert folder_size(model) == sum(f.stat().st_size for f in model.iterdir())


def test_saving_leaves_nothing_beside_the_model(model: Path) -> None:
    save_model(model, FILES)
    assert [p.name for p in model.parent.iterdir()] == ["model"]


def test_a_failed_save_leaves_the_old_model(model: Path) -> None:
    with pytest.raises(TypeError):
        save_model(model, ModelFiles(config={"method": object()}))
    assert load_model(model).config["method"] == "knn"
    assert [p.name for p in model.parent.iterdir()] == ["model"]


def test_mapped_arrays_are_the_same_and_stay_when_the_model_is_replaced(model: Path) -> None:
    mapped = load_model(model, verify=False).arrays
    save_model(model, replace(FILES, arrays={"a": np.zeros((2, 3), dtype=np.float32)}))
    np.testing.assert_array_equal(mapped["a"], FILES.arrays["a"])
    assert mapped["empty"].shape == (0,)
    mapped["a"][:] = 7  # pages are the process's own
    assert not load_model(model, verify=False).arrays["a"].any()


def test_large_arrays_are_mapped_and_their_checksum_is_compared_on_demand(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = model / "tensors.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1  # of the last array
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match="checksum"):
        load_model(model)
    monkeypatch.setattr("zipfel.persistence.MAPPED_FROM", 16)
    assert load_model(model).arrays["a"][1, 2] != FILES.arrays["a"][1, 2]
    with pytest.raises(ModelFileError, match="checksum"):
        load_model(model, verify=True)


@pytest.mark.parametrize("damage", ["truncate", "append", "header"])
def test_the_structure_of_mapped_arrays_is_checked(model: Path, damage: str) -> None:
    file = model / "tensors.safetensors"
    content = file.read_bytes()
    changed = {"truncate": content[:-4], "append": content + b"1", "header": content.replace(b"[2,3]", b"[9,9]")}
    file.write_bytes(changed[damage])
    with pytest.raises(ModelFileError, match="tensors"):
        load_model(model, verify=False)


@pytest.mark.parametrize("name", ["config.json", "tensors.safetensors", "labels.json"])
@pytest.mark.parametrize("damage", ["truncate", "flip", "append", "remove"])
def test_damage_to_any_file_is_noticed(model: Path, name: str, damage: str) -> None:
    file = model / name
    content = bytearray(file.read_bytes())
    if damage == "remove":
        file.unlink()
    else:
        if damage == "truncate":
            del content[len(content) // 2 :]
        elif damage == "flip":
            content[len(content) // 2] ^= 1
        else:
            content += b" 7"
        file.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"config\.json" if name == "config.json" else name):
        load_model(model)


def rewrite(model: Path, **changes: object) -> None:
    """An attacker's or a newer library's config.json, with a right checksum."""
    from zipfel.persistence import _digest_json

    config = json.loads((model / "config.json").read_text())
    del config["checksum"]
    config.update(changes)
    config["checksum"] = _digest_json(config)
    (model / "config.json").write_text(json.dumps(config))


def test_a_newer_format_says_so(model: Path) -> None:
    rewrite(model, format_version=99)
    with pytest.raises(ModelFileError, match="upgrade"):
        load_model(model)


@pytest.mark.parametrize(
    "files",
    [
        {"../../etc/passwd": {"bytes": 1, "sha256": ""}},
        {"tensors.safetensors": 5},
        {"tensors.safetensors": {"bytes": "1"}},
        [],
    ],
)
def test_a_crafted_listing_is_refused(model: Path, files: object) -> None:
    rewrite(model, files=files)
    with pytest.raises(ModelFileError):
        load_model(model)


def test_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such folder"):
        read_config(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match=r"no config\.json"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text('{"architectures": ["BertModel"]}')
    with pytest.raises(ModelFileError, match="not a zipfel model"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(ModelFileError, match="not JSON"):
        read_config(tmp_path)


def test_a_folder_with_other_things_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ModelFileError, match="something else"):
        save_model(tmp_path, FILES)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_reader_beside_a_writer_always_has_one_whole_model(tmp_path: Path) -> None:
    """Every file of a version holds the version's number; a mix, or a model that is missing, would show."""
    target, stop, wrong = tmp_path / "model", threading.Event(), []

    def files(number: int) -> ModelFiles:
        return ModelFiles({"number": number}, {"a": np.full(2000, number)}, {"labels": [str(number)]})

    def read() -> None:
        found = load_model(target)
        numbers = {found.config["number"], int(found.arrays["a"][0]), int(found.documents["labels"][0])}
        if len(numbers) != 1 or read_config(target)["number"] < found.config["number"]:
            wrong.append(str(numbers))

    def read_on() -> None:
        try:
            while not stop.is_set():
                read()
        except BaseException as error:
            wrong.append(repr(error))
            raise

    save_model(target, files(0))
    reader = threading.Thread(target=read_on)
    reader.start()
    for number in range(1, 100):
        save_model(target, files(number))
    stop.set()
    reader.join()
    assert not wrong
