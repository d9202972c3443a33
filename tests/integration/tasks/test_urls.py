"""Input files in an object store, which tasks copy to the machine that reads them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from s3fs import S3FileSystem  # type: ignore[import-untyped]

from graphkin.ingest.options import IngestOptions
from graphkin.ingest.stages.pipeline import ingest
from graphkin.protocol.errors import InvalidInput, StoreError
from graphkin.runtime.location import Location, Unreachable
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.vectors.recipe import resolve_vectors
from tests.integration.tasks.equality import OPTIONS, SMALL, assert_equal, stable_fields
from tests.rigs.lake_writers import s3_bucket
from tests.runners import InThisProcess

MOLECULES = resolve(threshold=0.3, top_k=4)

RUNNER = InThisProcess()  # worker processes would have the environment of before the bucket


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_bucket() as url:
        yield url


def _upload(bucket: str, files: list[str], folder: Path) -> list[str]:
    """Upload files, and return their URLs.

    Each URL is also a relative path in the folder, with a copy of the file. An ingest in one stream reads this copy, so
    its sources have the same names.
    """
    urls = [f"{bucket}/{folder.name}/{Path(file).name}" for file in files]
    for file, url in zip(files, urls, strict=True):
        S3FileSystem().put_file(file, url)
        (folder / url).parent.mkdir(parents=True, exist_ok=True)
        (folder / url).write_bytes(Path(file).read_bytes())
    return urls


def test_molecules_from_urls_equal_one_stream(
    bucket: str, mixed_files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = _upload(bucket, mixed_files, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert_equal(RUNNER, urls, MOLECULES, SMALL, tmp_path)


def test_archive_of_graphs_from_a_url_equals_one_stream(
    bucket: str, shapes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = _upload(bucket, [str(shapes)], tmp_path)
    monkeypatch.chdir(tmp_path)
    assert_equal(RUNNER, urls, resolve_graphs(), SMALL, tmp_path)


def test_array_and_its_names_from_urls_equal_one_stream(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32))
    (tmp_path / "names.txt").write_text("".join(f"row {row}\n" for row in range(300)))
    url, names = _upload(bucket, [str(tmp_path / "rows.npy"), str(tmp_path / "names.txt")], tmp_path)
    monkeypatch.chdir(tmp_path)
    options = IngestOptions(workers=1, names=(names,))
    assert_equal(RUNNER, [url], resolve_vectors(dimension=6, threshold=0.7, top_k=5), SMALL, tmp_path, options)


def test_wildcard_matches_files_in_the_order_of_their_names(
    bucket: str, mixed_files: list[str], tmp_path: Path
) -> None:
    urls = _upload(bucket, mixed_files, tmp_path)
    folder = f"{bucket}/{tmp_path.name}"
    listed = ingest(RUNNER, str(tmp_path / "listed"), "c", [urls[0], urls[2]], MOLECULES, OPTIONS)
    matched = ingest(RUNNER, str(tmp_path / "matched"), "c", [f"{folder}/*.smi"], MOLECULES, OPTIONS)
    assert stable_fields(matched) == stable_fields(listed)
    assert [each.name for each in matched.inputs] == [urls[0], urls[2]]


def test_changed_file_is_read_again(bucket: str, mixed_files: list[str], tmp_path: Path) -> None:
    """A run that fails leaves finished tasks, which a run with another file at the same URL does not use."""
    url = f"{bucket}/{tmp_path.name}/same.smi"
    S3FileSystem().pipe_file(url, b"CO a\nwrong b\n")
    with pytest.raises(InvalidInput, match="1 of 2 records"):
        ingest(RUNNER, str(tmp_path / "lake"), "c", [url], MOLECULES)
    S3FileSystem().pipe_file(url, b"CO a\nCN bb\n")
    assert ingest(RUNNER, str(tmp_path / "lake"), "c", [url], MOLECULES).counts.rejected == 0


def test_missing_files_are_refused(bucket: str, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    with pytest.raises(InvalidInput, match=rf"cannot open {bucket}/none\.smi"):
        ingest(RUNNER, lake, "c", [f"{bucket}/none.smi"], MOLECULES)
    with pytest.raises(InvalidInput, match=rf"no file matches {bucket}/none/\*\.smi"):
        ingest(RUNNER, lake, "c", [f"{bucket}/none/*.smi"], MOLECULES)
    with pytest.raises(InvalidInput, match=r"cannot open https://HOST/a\.smi with a password") as error:
        ingest(RUNNER, lake, "c", ["https://user:secret@HOST/a.smi"], MOLECULES)
    assert "secret" not in str(error.value)


def test_engine_that_reads_no_urls_names_one_that_does(graphkin: Callable[..., Any]) -> None:
    outcome = graphkin("ingest", "molecules", "s3://bucket/a.smi", "--store", "s", "--collection", "c")
    assert (outcome.code, "read the URL with `--engine tasks`" in outcome.err) == (2, True)


def test_error_of_the_object_store_keeps_its_reason(
    bucket: str, mixed_files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Unreachable("access denied")

    urls = _upload(bucket, mixed_files[:1], tmp_path)
    monkeypatch.setattr(Location, "download", fail)
    with pytest.raises(StoreError, match=r"a\.smi cannot be read: access denied"):
        ingest(RUNNER, str(tmp_path / "lake"), "c", urls, MOLECULES)
