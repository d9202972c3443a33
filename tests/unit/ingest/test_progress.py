"""Who waits for the first compilation is told what for."""

import threading

from graphkin.ingest.progress import Progress, compiling


class Listener(Progress):
    def __init__(self) -> None:
        self.heard = threading.Event()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.heard.set()


def test_a_compilation_that_takes_long_says_what_how_long_and_that_it_is_once() -> None:
    listener = Listener()
    with compiling(listener, silence=0):
        assert listener.heard.wait(60)
    (note,) = listener.notes
    assert "compiling" in note
    assert "half a minute" in note
    assert "once" in note


def test_what_is_loaded_says_nothing() -> None:
    listener = Listener()
    with compiling(listener, silence=3600):
        (waiting,) = [each for each in threading.enumerate() if isinstance(each, threading.Timer)]
    waiting.join(60)
    assert not waiting.is_alive()
    assert listener.notes == []
