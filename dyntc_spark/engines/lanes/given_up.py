"""Which batches are built at once, for a step like theirs took longer than a build."""

from __future__ import annotations

from dataclasses import dataclass

#: Batches in a row that are built without trying a step that was given up.
MOST_SKIPPED = 8


@dataclass
class GivenUp:
    """Steps that looked at more words than a build, and were given up; batches that had better not try.

    After a step was given up, one batch with as many changes is built without it; after the second time in a row
    two, then four, up to `MOST_SKIPPED`. In between one tries again: times may have changed. When a step with fewer
    changes is given up, the row begins anew: of batches as small as that no more is known.

    >>> given_up = GivenUp()
    >>> given_up.note(10, complete=False)
    >>> [given_up.skips(changes) for changes in (4, 12, 12)]
    [False, True, False]
    >>> given_up.note(12, complete=False)
    >>> [given_up.skips(12) for _ in range(3)]
    [True, True, False]
    >>> given_up.note(4, complete=False)
    >>> [given_up.skips(4) for _ in range(2)]
    [True, False]
    """

    changes: int = 0  #: of the step that was given up
    times: int = 0  #: in a row
    left: int = 0  #: batches to go without the step

    def note(self, changes: int, *, complete: bool) -> None:
        """Take note of a step."""
        if not complete:
            self.times = self.times + 1 if changes >= self.changes else 1
            self.changes, self.left = changes, min(2 ** (self.times - 1), MOST_SKIPPED)
        elif changes >= self.changes:
            self.times = self.left = 0

    def skips(self, changes: int) -> bool:
        """Return whether a batch with so many changes goes without the step."""
        if not self.left or changes < self.changes:
            return False
        self.left -= 1
        return True
