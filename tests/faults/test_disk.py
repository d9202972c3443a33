"""`graphkin ingest molecules` on a full disk and in folders that it may not write to."""

import os
import shutil
import signal
import stat
import subprocess

import pytest

NO_SPACE = ("No space left on device", "database or disk is full", "File too large", "disk I/O error")


class FileSizeLimit:
    """Limits the size of files to a share of the largest file that the ingest writes."""

    def __init__(self, folder):
        self.folder = folder

    def squeeze(self, share, file_sizes):
        self.within = ("prlimit", f"--fsize={int(share * max(file_sizes)) + 512}")

    def relax(self):
        pass


class SmallDisk:
    """A file system in memory, filled until only a share of what the ingest writes is free."""

    within = ()

    def __init__(self, folder):
        self.folder = folder
        self._ballast = folder / "ballast"

    def squeeze(self, share, file_sizes):
        usage = os.statvfs(self.folder)
        ballast = usage.f_bavail * usage.f_frsize - int(share * sum(file_sizes))
        self._ballast.write_bytes(bytes(ballast))

    def relax(self):
        self._ballast.unlink()


@pytest.fixture(params=[FileSizeLimit, SmallDisk])
def disk(request, tmp_path):
    """Yield a disk that can be squeezed. Where nothing can be mounted, the file size limit replaces it."""
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "graphkin-faults", mounted]
    small = request.param is SmallDisk and shutil.which("mount")
    if small and subprocess.run(mount, capture_output=True).returncode == 0:
        yield SmallDisk(mounted)
        subprocess.run(["umount", mounted], check=True)
    else:
        yield FileSizeLimit(mounted)


def assert_refused(process, *messages):
    """Check for exit code 4, and for one of the messages without a traceback."""
    assert process.returncode == 4, process.stderr
    assert "error: " in process.stderr
    assert "Traceback" not in process.stderr
    assert "Exception ignored" not in process.stderr
    assert any(message in process.stderr for message in messages), process.stderr
    assert not process.stdout


@pytest.mark.parametrize("share", [pytest.param(0, marks=pytest.mark.long), 0.9])
def test_ingest_on_a_full_disk_publishes_nothing(share, disk, baseline, graphkin, molecule_files, read_back, leftovers):
    store = disk.folder / "store"
    shutil.copytree(baseline.store, store)
    disk.squeeze(share, baseline.sizes)
    assert_refused(graphkin.ingest(molecule_files[1], store, within=disk.within), *NO_SPACE)
    assert read_back(store) == baseline.first
    assert not leftovers(store)
    disk.relax()
    graphkin.run_here(*graphkin.ingest_arguments(molecule_files[1], store)).check_returncode()
    assert read_back(store) == baseline.second


def test_store_below_a_file_is_refused(tmp_path, graphkin, molecule_files):
    file = tmp_path / "file"
    file.write_text("not a folder")
    assert_refused(graphkin.run_here(*graphkin.ingest_arguments(molecule_files[0], file / "store")), "Not a directory")
    assert file.read_text() == "not a folder"


def test_unwritable_rejections_file_is_reported(tmp_path, graphkin):
    file = tmp_path / "garbage.smi"
    file.write_text("no molecule\n")
    process = graphkin.run_here(
        *graphkin.ingest_arguments(file, tmp_path / "store"), "--rejections-file", file / "below"
    )
    assert process.returncode == 2
    assert "1 of 1 records (100.0%) were rejected" in process.stderr
    assert f"could not be saved in {file / 'below'} (Not a directory)" in process.stderr
    assert "Traceback" not in process.stderr


@pytest.fixture
def permission_prefix():
    """Return a command prefix that makes file permissions apply to root too."""
    return ("setpriv", "--bounding-set", "-dac_override") if os.geteuid() == 0 else ()


def permit(folder, *, writing):
    """Grant or revoke the right to write to a folder and everything below it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR if writing else path.stat().st_mode & ~stat.S_IWUSR)


def test_ingest_refuses_a_read_only_parent(tmp_path, graphkin, molecule_files, permission_prefix):
    parent = tmp_path / "parent"
    parent.mkdir()
    permit(parent, writing=False)
    assert_refused(graphkin.ingest(molecule_files[0], parent / "store", within=permission_prefix), "Permission denied")
    assert not list(parent.iterdir())


def test_read_only_store_is_read_but_not_written(
    tmp_path, baseline, graphkin, molecule_files, permission_prefix, read_back
):
    store = tmp_path / "store"
    shutil.copytree(baseline.store, store)
    permit(store, writing=False)
    assert_refused(
        graphkin.ingest(molecule_files[1], store, within=permission_prefix), "Permission denied", "readonly database"
    )
    graphkin.run("verify", "--store", store, "--sample", "10", within=permission_prefix).check_returncode()
    permit(store, writing=True)
    assert read_back(store) == baseline.first
    graphkin.run_here(*graphkin.ingest_arguments(molecule_files[1], store)).check_returncode()
    assert read_back(store) == baseline.second


def test_read_only_store_with_an_unfinished_commit_is_refused(
    tmp_path, forks, saboteur, graphkin, permission_prefix, read_back
):
    store = tmp_path / "store"
    forks("publish", store, 1)
    published = read_back(store)
    # Five temporary files are unlinked first, then the catalog's journal.
    plan = saboteur.plan(store, kind="unlink", at=6)
    assert forks("publish", store, 2, plan=plan).status == -signal.SIGKILL
    assert plan.operations()[-1] == ("unlink", store / "catalog.sqlite-journal")
    permit(store, writing=False)
    assert_refused(graphkin.run("verify", "--store", store, within=permission_prefix), "readonly database")
    permit(store, writing=True)
    assert read_back(store) == published
