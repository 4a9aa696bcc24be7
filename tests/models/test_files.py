"""Every kind of model: saved equals loaded, and every section damaged in turn is refused with a sentence."""

from __future__ import annotations

import copy
import inspect
import re

import numpy as np
import pytest

import loglin
from loglin import LanguageModel, LoglinError, MaxEnt, Parser, Tagger
from loglin.corpus.sections import Section
from loglin.models import files, kinds
from loglin.models.kinds import KINDS
from support.model_files import rewritten
from support.small_models import MADE, X

OPTIONAL = {"record", "decoding"}  # of taggers and classifiers
UNREAD = {"tokens.kind", "spans.kind", "base.values.kind"}  # what the place in the file says already


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, make in MADE.items():
        make().save(folder / name)
    return folder


def refused(path, section: Section) -> str:
    files.write(path, section)
    with pytest.raises(LoglinError, match=re.escape(str(path))) as error:
        kinds.load(path)
    sentence = str(error.value)
    assert sentence.endswith("train it again")
    assert "\n" not in sentence
    return sentence


def test_all_kinds_are_here(saved):
    assert {kinds.opened(saved / name)[0].name for name in MADE} == set(KINDS)


@pytest.mark.parametrize("name", MADE)
def test_saved_is_loaded(saved, name):
    model = kinds.load(saved / name)
    model.save(saved / "again")
    first, second = files.read(saved / name), files.read(saved / "again")
    assert first.arrays.keys() == second.arrays.keys()
    for key, array in first.arrays.items():
        assert (array.dtype, array.tobytes()) == (second.arrays[key].dtype, second.arrays[key].tobytes())
    without = [{k: v for k, v in s.manifest.items() if k not in ("tokens", "spans")} for s in (first, second)]
    assert without[0] == without[1]  # a template may end in one more blank line


@pytest.mark.parametrize("name", MADE)
def test_damaged_arrays(saved, tmp_path, name):
    whole = files.read(saved / name)
    for key, array in whole.arrays.items():
        longer = np.append(array, array[:1] if len(array) else np.zeros(1, array.dtype))
        wrong = [longer] if longer.tolist() != [0, 0] else []  # which cuts nothing into one empty string
        wrong.append(np.zeros(len(array), np.float32 if array.dtype == np.int64 else np.int64))
        wrong += [array[:-1]] if len(array) else []
        for value in _impossible(key, array):
            wrong.append(array.copy())
            wrong[-1][-1] = value
        for change in wrong:
            print(key, change)  # shown on failure
            refused(tmp_path / "m", Section(whole.manifest, whole.arrays | {key: change}))
        without = {k: a for k, a in whole.arrays.items() if k != key}
        assert key in refused(tmp_path / "m", Section(whole.manifest, without))


def _impossible(key: str, array: np.ndarray) -> list:
    """Values that the last entry may not have."""
    if not len(array) or array.dtype == np.uint8:  # bytes of strings and bits of labels may be any
        return []
    if array.dtype.kind == "f":
        return [np.nan, np.inf]
    free = key.endswith("counts") or re.search(r"^(features|tokens|spans)\.keys\.", key)
    largest = [] if free else [np.iinfo(array.dtype).max]
    return largest if array.dtype == np.uint16 else [-1, *largest]


def manifest_keys(manifest: dict, prefix: tuple = ()) -> list[tuple]:
    found = []
    for key, value in manifest.items():
        if key in ("format", "version"):  # test_model.py has these
            continue
        found.append((*prefix, key))
        if isinstance(value, dict) and key not in ("record", "decoding", "coder"):
            found += manifest_keys(value, (*prefix, key))
    return found


@pytest.mark.parametrize("name", MADE)
def test_damaged_manifests(saved, tmp_path, name):
    whole = files.read(saved / name)
    is_chain = KINDS[whole.manifest["task"]].form == "chain.Model"
    for *above, key in manifest_keys(whole.manifest):
        for wrong in (None, [[1]]):
            manifest = copy.deepcopy(whole.manifest)
            inside = manifest
            for part in above:
                inside = inside[part]
            if wrong is None:
                del inside[key]
            else:
                inside[key] = wrong
            missing_is_fine = (is_chain and not above and key in OPTIONAL) or ".".join((*above, key)) in UNREAD
            anything_goes = key == "intercept" or ".".join((*above, key)) in UNREAD
            if not (missing_is_fine if wrong is None else anything_goes):
                print(above, key, wrong)  # shown on failure
                assert key in refused(tmp_path / "m", Section(manifest, whole.arrays)) or wrong


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.full), 11], ids="every-{}".format)
@pytest.mark.parametrize("name", MADE)
def test_every_flipped_byte_is_found(saved, tmp_path, name, step):
    content, path = (saved / name).read_bytes(), tmp_path / "m"
    rng = np.random.default_rng(0)
    for position in range(0, len(content), step):
        damaged = bytearray(content)
        damaged[position] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        with pytest.raises(LoglinError):
            files.read(path)


@pytest.mark.parametrize("name", MADE)
def test_text_that_is_none(saved, tmp_path, name):
    """Bytes that are not UTF-8, and strings that begin inside a character."""
    whole = files.read(saved / name)
    for key in [key for key in whole.arrays if key.endswith("blob") and len(whole.arrays[key])]:
        for bytes_of in (b"\xff", b"\x80", b"\xc3"):
            changed = whole.arrays[key].copy()
            changed[-1:] = np.frombuffer(bytes_of, np.uint8)
            assert "UTF-8" in refused(tmp_path / "m", Section(whole.manifest, whole.arrays | {key: changed}))


def test_files_are_safetensors(saved, tmp_path):
    """The library reads them, and what it writes is a file of an older version."""
    safetensors = pytest.importorskip("safetensors.numpy")
    for name in MADE:
        whole, arrays = files.read(saved / name), safetensors.load_file(saved / name)
        assert {k: a.tolist() for k, a in arrays.items()} == {k: a.tolist() for k, a in whole.arrays.items()}
        safetensors.save_file(arrays, tmp_path / "m", {"loglin": files.manifest_text(whole)})
        assert files.read(tmp_path / "m").manifest == whole.manifest


def test_files_without_a_checksum_load(saved, tmp_path):
    """As files of older versions are."""
    rewritten(saved / "crf", lambda h, m: h["__metadata__"].pop("crc32"))
    assert files.checksum(saved / "crf") is None
    assert Tagger.load(saved / "crf").predict(X)
    MADE["crf"]().save(saved / "crf")
    assert files.checksum(saved / "crf")


@pytest.mark.parametrize("name", MADE)
def test_what_could_not_be_loaded_is_not_written(saved, name):
    """Whatever the kind, an older file is left as it was."""
    path, other = saved / name, saved / f"{name} again"
    before, model = path.read_bytes(), kinds.load(path)
    other.write_bytes(before)
    model.record["options"] = "none"
    with pytest.raises(LoglinError, match=r"is not written, since it could not be loaded: record\.options"):
        model.save(other)
    assert other.read_bytes() == before


def test_weights_that_are_not_finite_are_not_written(saved):
    path = saved / "crf"
    before, model = path.read_bytes(), kinds.load(path)
    model.weights = np.full_like(model.weights, np.inf)
    with pytest.raises(LoglinError, match=r"not written.*weights has values that are not finite; train"):
        model.save(path)
    assert path.read_bytes() == before


def test_a_file_of_another_kind_names_command_and_estimator(saved):
    for name in MADE:
        kind, section = kinds.opened(saved / name)
        face = kind.face_of(section.manifest["record"])
        for other in (Tagger, MaxEnt, Parser, LanguageModel):
            if other.__name__ not in (kind.face, face):
                told = re.escape(f"is a {kind.noun}; use {kind.command}, or {kind.face}.load")
                with pytest.raises(LoglinError, match=told if other is not Tagger else "open|use"):
                    other.load(saved / name)
        assert type(loglin.load(saved / name)).__name__ == face


def test_faces_of_the_registry_are_public():
    for kind in KINDS.values():
        for face in (kind.face, *kind.faces.values()):
            assert inspect.isclass(getattr(loglin, face))
