"""Notes about the first compilation of kernels."""

import threading

from graphkin.ingest.progress import Progress, report_compilation


class Listener(Progress):
    """A progress listener that sets `heard` after `enough` notes."""

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self.heard = threading.Event()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)
        if len(self.notes) == self._enough:
            self.heard.set()


def test_long_compilation_is_announced_once_and_then_repeated() -> None:
    listener = Listener(3)
    with report_compilation(listener, first_note_after=0, note_period=0.01):
        assert listener.heard.wait(60)
    first, *others = listener.notes
    assert "compiling" in first
    assert "half a minute" in first
    assert "once" in first
    assert all(note.startswith("still compiling") for note in others)


def test_cached_kernels_print_no_note() -> None:
    listener = Listener(1)
    before = threading.enumerate()
    with report_compilation(listener, first_note_after=3600):
        pass
    assert set(threading.enumerate()) <= set(before)
    assert listener.notes == []
