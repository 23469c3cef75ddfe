"""What can be recovered of a location whose files are damaged: the newest version of which everything is left."""

from __future__ import annotations

from dataclasses import dataclass

from dyntc_spark.errors import DamagedBlockError, DamagedFileError, DyntcError, StorageError, VersionError
from dyntc_spark.graph.store import damaged_files, delta_log
from dyntc_spark.graph.store.commits import Commits
from dyntc_spark.graph.store.damaged_files import Plan
from dyntc_spark.graph.store.place import Place, brief
from dyntc_spark.graph.store.published_note import PublishedCommit
from dyntc_spark.graph.store.store import Store


@dataclass(frozen=True)
class Recovered:
    """What is left of a location, which can be read again."""

    commits: Commits
    version: int  #: the newest that is left
    published: int  #: the last that was published, as far as anybody can tell
    lost_commits: int  #: how many commits are lost

    @property
    def lost(self) -> bool:
        """Whether a published version is lost."""
        return self.version < self.published


def recover(place: Place, version: int | None) -> Recovered:
    """Make a damaged location readable, with the newest version that is left.

    Where a published version is lost, ``version`` has to name the one that is left; else nothing is changed.
    """
    damaged_files.put_aside(place, damaged_files.spares(place))
    plan = damaged_files.plan(place)
    place.as_of = plan.as_of
    noted, commits = _noted(place), Store.remaining(place)
    if commits is None and noted is None and not plan.found:
        Store.required(place)  # there never was a closure
    if commits is None:
        raise _hopeless(place, plan, "no commit is left")
    head = commits.head.published
    known = head if noted is None or noted.number < head.number else noted
    unknown = max(0, head.number + _lost_entries(place, plan) - known.number)  # each may have published a version
    gone = known.number + unknown - head.number
    newest, failure = _newest(place, commits, plan)
    found = Recovered(commits, newest, known.version + unknown, gone)
    if found.lost and version is None:
        raise DamagedFileError(
            f"version {found.published}, which was published at {place.location!r}",
            _told(place, plan, failure),
            f"Version {found.version} can be recovered: repair(location, version={found.version}) makes it the last "
            "one, under a new number, and lets older versions go.",
        )
    if version not in {None, found.version}:
        raise VersionError(
            f"version {found.version}, the newest that is left", f"{version!r}", "Only that one can be recovered."
        )
    damaged_files.put_aside(place, plan.aside)
    place.as_of = {}
    return found


def _noted(place: Place) -> PublishedCommit | None:
    """Return the last commit that was noted; None also when the note itself is damaged."""
    try:
        return place.notes.published()
    except DamagedFileError:
        return None


def _lost_entries(place: Place, plan: Plan) -> int:
    """Return how many entries of ``commits`` are lost."""
    if "commits" not in plan.as_of:
        return 0
    told = filter(None, map(delta_log.version_of, place.log_names("commits") or ()))
    return max(told, default=0) - plan.as_of["commits"]


def _newest(place: Place, commits: Commits, plan: Plan) -> tuple[int, DyntcError | None]:
    """Return the newest version that can be read, and why later ones cannot."""
    store = Store(place, commits)
    failure: DyntcError | None = None
    for version in range(commits.head.version, commits.oldest - 1, -1):
        try:
            store.load(commits.upto(version), repairing=True)
        except (DamagedBlockError, StorageError) as error:  # noqa: PERF203  (there are few)
            failure = failure or error
        else:
            return version, failure
    raise _hopeless(place, plan, brief(failure) if failure else "no version") from failure


def _told(place: Place, plan: Plan, failure: DyntcError | None = None) -> str:
    """Name what is damaged."""
    seen = plan.found or damaged_files.damages(place)
    files = [f"{found.what} in {place.file_name(found.table, found.name)!r}" for found in seen]
    if not files and failure is not None:
        return brief(failure)
    return ", ".join(files[:3]) if files else "tables that do not have it"


def _hopeless(place: Place, plan: Plan, why: str) -> DyntcError:
    came = f"{_told(place, plan)}; {why}"
    return DamagedFileError(f"a closure at {place.location!r}", came, "Only a copy of the files helps.")
