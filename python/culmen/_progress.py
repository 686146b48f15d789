"""Progress of a build."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

#: Called with the phase ("sorting") and the part of it that is done, 0 to 1.
Progress = Callable[[str, float], object]


class shown:
    """The function that a build reports to: the caller's, that of a progress bar, or None."""

    def __init__(self, progress: Progress | bool | None) -> None:
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise TypeError(f"progress is True or a function, not {progress!r}")
        self._bar: Any = None
        self._report = progress if callable(progress) else None
        if progress is True:
            with contextlib.suppress(Exception):  # no tqdm, or no standard error
                from tqdm.auto import tqdm

                self._bar = tqdm(total=1.0, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}")
                self._phase = ""
                self._report = self._show

    def _show(self, phase: str, fraction: float) -> None:
        with self._drawing() as bar:
            if phase != self._phase:  # a new phase starts at 0
                self._phase = phase
                bar.set_description_str(phase, refresh=False)
                bar.reset()
            bar.update(fraction - bar.n)

    @contextlib.contextmanager
    def _drawing(self) -> Iterator[Any]:
        """Disables a bar that cannot be drawn: standard error is closed, full or a broken pipe."""
        try:
            yield self._bar
        except Exception:
            self._bar.disable = True

    def __enter__(self) -> Progress | None:
        return self._report

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            with self._drawing() as bar:
                bar.close()
