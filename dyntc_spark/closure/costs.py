"""What engines cost: a model over the size of the graph and the batches seen so far, and its measured constants.

An engine brings its own estimate (`Engine.seconds`): the seconds that a batch like the
last ones (`Load`) takes, given what single steps take on this machine (`Costs`).
``calibrate`` measures the latter on a machine; the defaults here are what it found on one
with two cores, rounded. Only their ratios matter to a choice. A changed edge is the least
certain of them: 1 to 4 microseconds in batches of real changes, up to 20 where edges
come and go at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

#: The weight of the last batch in what is remembered of all.
MEMORY = 0.3
#: Affected rows that nobody counted are taken to be this part of those of the batch before.
FADING = 0.8


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds for single steps."""

    vertex: float = 200e-9  #: to condense a graph, a vertex
    edge: float = 70e-9  #: and an edge
    number: float = 2.5e-9  #: to close it, a number in a row
    change: float = 1.5e-6  #: a changed edge, beside what it affects
    batch: float = 2e-4  #: a batch, whatever it is
    affected: float = 210e-9  #: an edge at an affected vertex
    rebuilt: float = 10e-9  #: a number in a row that is built again
    entry: float = 7e-9  #: an entry of a matrix of residues that is read, written or multiplied
    job: float = 0.06  #: a Spark job that does nothing
    far_number: float = 180e-9  #: a number in a row that a task writes, on one core

    def condensing(self, load: Load) -> float:
        """Seconds to condense a graph."""
        return self.vertex * load.vertices + self.edge * load.edges


@dataclass(frozen=True, slots=True)
class Load:
    """A graph, and what its batches are like: means over the last ones."""

    vertices: int = 0
    edges: int = 0
    pairs: int = 0
    changes: float = 0.0  #: edges inserted and deleted by a batch
    affected: float = 0.0  #: vertices that reach a change that matters
    changed: float = 0.0  #: vertices whose rows a batch changes
    below: float = 0.0  #: vertices that a changed edge leads to; 0 where nobody has counted them yet
    on_spark: bool = False
    cores: int = 1  #: tasks of Spark at the same time
    held: int = 0  #: numbers in the rows of components; 0 where nobody has condensed the graph

    @property
    def row(self) -> float:
        """Vertices that a vertex reaches, on average."""
        return 1 + self.pairs / max(self.vertices, 1)

    @property
    def numbers(self) -> int:
        """Numbers that the rows of a condensed graph hold."""
        return self.held or self.pairs

    @property
    def width(self) -> float:
        """Numbers in the row of a component, about."""
        return 1 + self.numbers / max(self.vertices, 1)

    @property
    def degree(self) -> float:
        """Edges of a vertex, on average."""
        return self.edges / max(self.vertices, 1)

    @property
    def density(self) -> float:
        """The part of all pairs that is in the closure."""
        return self.pairs / max(self.vertices**2, 1)

    def after(self, seen: Load, *, counted: bool) -> Load:
        """Give the load with another batch ``seen``; whether its affected rows were ``counted``."""
        if counted:
            affected, changed = (
                _mean(old, new) for old, new in ((self.affected, seen.affected), (self.changed, seen.changed))
            )
        else:
            affected, changed = FADING * self.affected, FADING * self.changed
        below = _mean(self.below, seen.below) if seen.below else self.below
        changes = _mean(self.changes, seen.changes)
        return replace(seen, changes=changes, affected=affected, changed=changed, below=below)


def _mean(old: float, new: float) -> float:
    return new if not old else (1 - MEMORY) * old + MEMORY * new
