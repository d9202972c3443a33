"""`graphkin ingest molecules` on a full disk and in folders it may not write to."""

import os
import shutil
import signal
import stat
import subprocess

import pytest

NO_SPACE = ("No space left on device", "database or disk is full", "File too large", "disk I/O error")


class FileSizeLimit:
    """No file may grow beyond a share of the largest file that the ingest writes."""

    def __init__(self, folder):
        self.folder = folder

    def squeeze(self, share, wanted):
        self.within = ("prlimit", f"--fsize={int(share * max(wanted)) + 512}")

    def relax(self):
        pass


class SmallDisk:
    """A file system in memory, filled until a share of what the ingest writes is left."""

    within = ()

    def __init__(self, folder):
        self.folder = folder
        self._ballast = folder / "ballast"

    def squeeze(self, share, wanted):
        usage = os.statvfs(self.folder)
        ballast = usage.f_bavail * usage.f_frsize - int(share * sum(wanted))
        self._ballast.write_bytes(bytes(ballast))

    def relax(self):
        self._ballast.unlink()


@pytest.fixture(params=[FileSizeLimit, SmallDisk])
def disk(request, tmp_path):
    """A disk that can be squeezed; where nothing can be mounted the file size limit stands in for it."""
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
    """Exit code 4, and one of the messages instead of a traceback."""
    assert process.returncode == 4, process.stderr
    assert "error: " in process.stderr
    assert "Traceback" not in process.stderr
    assert "Exception ignored" not in process.stderr
    assert any(message in process.stderr for message in messages), process.stderr
    assert not process.stdout


@pytest.mark.parametrize("share", [pytest.param(0, marks=pytest.mark.long), 0.9])
def test_full_disk(share, disk, undisturbed, graphkin, molecules, read_back, leftovers):
    store = disk.folder / "store"
    shutil.copytree(undisturbed.store, store)
    disk.squeeze(share, undisturbed.sizes)
    assert_refused(graphkin.ingest(molecules[1], store, within=disk.within), *NO_SPACE)
    assert read_back(store) == undisturbed.first
    assert not leftovers(store)
    disk.relax()
    graphkin.here(*graphkin.ingesting(molecules[1], store)).check_returncode()
    assert read_back(store) == undisturbed.second


def test_below_a_file(tmp_path, graphkin, molecules):
    file = tmp_path / "file"
    file.write_text("not a folder")
    assert_refused(graphkin.here(*graphkin.ingesting(molecules[0], file / "store")), "Not a directory")
    assert file.read_text() == "not a folder"


def test_rejections_that_cannot_be_saved(tmp_path, graphkin):
    file = tmp_path / "garbage.smi"
    file.write_text("no molecule\n")
    process = graphkin.here(*graphkin.ingesting(file, tmp_path / "store"), "--rejections-file", file / "below")
    assert process.returncode == 2
    assert "1 of 1 records (100.0%) were rejected" in process.stderr
    assert f"could not be saved in {file / 'below'} (Not a directory)" in process.stderr
    assert "Traceback" not in process.stderr


@pytest.fixture
def obedient():
    """What makes a command obey file permissions: root must give up the right to override them."""
    return ("setpriv", "--bounding-set", "-dac_override") if os.geteuid() == 0 else ()


def permit(folder, *, writing):
    """Give or take the right to write to a folder and all below it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR if writing else path.stat().st_mode & ~stat.S_IWUSR)


def test_read_only_parent(tmp_path, graphkin, molecules, obedient):
    parent = tmp_path / "parent"
    parent.mkdir()
    permit(parent, writing=False)
    assert_refused(graphkin.ingest(molecules[0], parent / "store", within=obedient), "Permission denied")
    assert not list(parent.iterdir())


def test_read_only_store(tmp_path, undisturbed, graphkin, molecules, obedient, read_back):
    store = tmp_path / "store"
    shutil.copytree(undisturbed.store, store)
    permit(store, writing=False)
    assert_refused(graphkin.ingest(molecules[1], store, within=obedient), "Permission denied", "readonly database")
    graphkin.run("verify", "--store", store, "--sample", "10", within=obedient).check_returncode()
    permit(store, writing=True)
    assert read_back(store) == undisturbed.first
    graphkin.here(*graphkin.ingesting(molecules[1], store)).check_returncode()
    assert read_back(store) == undisturbed.second


def test_read_only_store_with_a_commit_to_roll_back(tmp_path, forks, saboteur, graphkin, obedient, read_back):
    store = tmp_path / "store"
    forks("publish", store, 1)
    published = read_back(store)
    plan = saboteur.plan(store, kind="unlink", at=6)  # five spools, then the journal of the catalog
    assert forks("publish", store, 2, plan=plan).status == -signal.SIGKILL
    assert plan.operations()[-1] == ("unlink", store / "catalog.sqlite-journal")
    permit(store, writing=False)
    assert_refused(graphkin.run("verify", "--store", store, within=obedient), "readonly database")
    permit(store, writing=True)
    assert read_back(store) == published
