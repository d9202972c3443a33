"""Who waits for the first compilation is told what for."""

import threading

from graphkin.ingest.progress import Progress, compiling


class Listener(Progress):
    """Hears `enough` notes, and then says so."""

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self.heard = threading.Event()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)
        if len(self.notes) == self._enough:
            self.heard.set()


def test_a_compilation_that_takes_long_says_what_how_long_and_that_it_is_once_and_that_it_goes_on() -> None:
    listener = Listener(3)
    with compiling(listener, silence=0, again=0.01):
        assert listener.heard.wait(60)
    first, *others = listener.notes
    assert "compiling" in first
    assert "half a minute" in first
    assert "once" in first
    assert all(note.startswith("still compiling") for note in others)


def test_what_is_loaded_says_nothing() -> None:
    listener = Listener(1)
    before = threading.enumerate()
    with compiling(listener, silence=3600):
        pass
    assert set(threading.enumerate()) <= set(before)
    assert listener.notes == []
