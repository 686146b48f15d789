"""Progress of a build."""

from __future__ import annotations

from collections.abc import Callable
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
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=1.0, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}")
            self._phase = ""
            self._report = self._show

    def _show(self, phase: str, fraction: float) -> None:
        if phase != self._phase:  # a new phase starts at 0
            self._phase = phase
            self._bar.set_description_str(phase, refresh=False)
            self._bar.reset()
        self._bar.update(fraction - self._bar.n)

    def __enter__(self) -> Progress | None:
        return self._report

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
