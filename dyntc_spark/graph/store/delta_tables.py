"""Delta tables that are read and written without Spark, with the package ``deltalake``, wherever their files are.

A change is durable in some milliseconds, where Spark plans for a second. Rows are written as Parquet here; what
makes them count, an entry in Delta's log, is written by ``deltalake``, which keeps to Delta's protocol and refuses
the second of two writers. Both kinds of writers may work on one table. So

- a table with a feature that is not in ``FEATURES`` is left to Spark;
- an entry says of how many actions it consists, so that one that was cut off can be told.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import FileSystem

from dyntc_spark.graph.store import delta_log
from dyntc_spark.graph.store.disk_files import noted, noted_in, parts_of, pieces, plain
from dyntc_spark.graph.store.tables import PART, LeftToSparkError, Transaction, Where

#: Features of Delta's protocol that a table may have which is written here.
FEATURES = {"appendOnly", "invariants", "changeDataFeed", "timestampNtz"}
#: After so many entries Delta's log is summed up in a checkpoint; every commit reads the entries behind that.
CHECKPOINT_ENTRIES = 16
#: Tables whose rows have checksums of our own.
_CHECKED = ("runs", "blocks")
#: Columns of large tables that readers here ask conditions of, or nothing.
_UNREAD = {"vertices": {"version", "token", "strong", PART}, "runs": {"version", "token", PART}}

_log = logging.getLogger(__name__)


class DeltaTables(ABC):
    """Tables of one location.

    Parameters
    ----------
    names
        The tables that belong to the location.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._lock = threading.RLock()  # held by whoever uses what is known
        self._known: dict[str, tuple[Any, object]] = {}  # tables as they were opened, with the marks of their entries

    def exists(self, table: str) -> bool:
        """Return whether a table is there."""
        names = self.log_names(table) or []
        return any(delta_log.entries([name]) or delta_log.checkpoints([name]) for name in names)

    def read(self, table: str, where: Where | None = None, as_of: int | None = None) -> pa.Table | None:
        """Return the rows of a table, or some; None when the table is not there.

        Checksums are compared, of files or of Parquet's pages, unless what these hold has its own.
        """
        rows = self._rows(table, as_of)
        if rows is None:
            return None
        wanted, by_page = where(pc.field) if where else None, False
        if table not in _CHECKED:
            by_page = not self._are_checked(fragment.path for fragment in rows.get_fragments(wanted))
        checking = ds.ParquetFragmentScanOptions(pre_buffer=True, page_checksum_verification=by_page)
        columns = [name for name in rows.schema.names if name not in _UNREAD.get(table, ())]
        if wanted is not None:
            rows, wanted = _chosen(rows, wanted)
        return rows.to_table(columns, filter=wanted, fragment_scan_options=checking)

    def columns(self, table: str) -> list[str] | None:
        """Return the names of the columns of a table; None when it is not there."""
        rows = self._rows(table)
        return None if rows is None else list(rows.schema.names)

    def greatest(self, table: str, column: str) -> int | None:
        """Return the greatest number in a column; None when there is none, or no table."""
        rows = self._rows(table)
        batches = rows.to_batches(columns=[column]) if rows is not None else ()
        return max((pc.max(batch.column(0)).as_py() for batch in batches if batch.num_rows), default=None)

    def append(
        self,
        table: str,
        content: pa.Table,
        once: Transaction | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Add rows to a table, which is made with these properties when it is not there."""
        from deltalake import CommitProperties  # noqa: PLC0415  (it takes a while)
        from deltalake import Transaction as Noted  # noqa: PLC0415
        from deltalake.exceptions import DeltaError  # noqa: PLC0415

        content = plain(content)
        with self._lock:
            found = self._opened(table)
            if found is not None and once is not None and _is_done(found, once):
                return
            actions = self._written(table, content)
            noted = [Noted(once.application, once.version)] if once else []
            facts = CommitProperties(
                custom_metadata={"actions": str(len(actions) + len(noted))}, app_transactions=noted
            )
            if found is None:
                try:
                    self._create(table, content.schema, actions, facts, properties)
                except DeltaError:
                    found = self._opened(table)  # another writer may have made it meanwhile
                    if found is None or (once is not None and _is_done(found, once)):
                        raise
                else:
                    self._seal(table, -1)
                    return
            _require_schema(table, found, content.schema)
            version = found.version()
            parts = parts_of(table, content.schema)
            found.create_write_transaction(actions, "append", content.schema, parts, **_committing(facts))
            self._seal(table, version)

    def delete(self, table: str, where: str) -> None:
        """Take rows out of a table, by a condition in SQL."""
        with self._changing(table) as found:
            found.delete(where, **_committing())

    def compact(self, table: str) -> None:
        """Write the rows of small files as few larger ones."""
        with self._changing(table) as found:
            found.optimize.compact(**_committing())

    def clear_files(self, table: str) -> None:
        """Remove files, and entries of the log, that no version of the table in Delta's retention periods uses."""
        with self._changing(table) as found:
            found.vacuum(dry_run=False, full=True, **_committing())
        self._sum_up(table)
        with self._changing(table) as found:
            found.cleanup_metadata()

    @abstractmethod
    def log_names(self, table: str) -> list[str] | None:
        """Return the names of the files in the log of a table; None when there is none."""

    @abstractmethod
    def log_content(self, table: str, name: str) -> bytes | None:
        """Return the content of a file in the log of a table."""

    @abstractmethod
    def foreign_file(self) -> str | None:
        """Return a file below the location that belongs to none of the tables; None where there is none."""

    # --- where the files are -----------------------------------------------------------------

    @property
    @abstractmethod
    def _files(self) -> FileSystem:
        """Where files are read."""

    @abstractmethod
    def _address(self, table: str) -> str:
        """Return where a table is, for `deltalake`."""

    @abstractmethod
    def _path(self, table: str, name: str) -> str:
        """Return a file of a table, for ``self._files``."""

    @abstractmethod
    def _mark(self, table: str, version: int) -> object | None:
        """Return what tells an entry of the log from another one in its place; None when it is not there."""

    @abstractmethod
    def _put(self, table: str, name: str, rows: pa.Table) -> tuple[int, float]:
        """Write a file; return its size, and when it was written."""

    @abstractmethod
    def _are_checked(self, paths: Iterable[str]) -> bool:
        """Refuse files that are not what was written; return whether their pages need not be looked at."""

    @abstractmethod
    def _seal_entry(self, table: str, version: int) -> None:
        """Do what an entry of the log needs that was just written."""

    @abstractmethod
    def _before_summary(self, table: str, version: int) -> None:
        """Make room for a checkpoint of Delta's log."""

    # --- one table ---------------------------------------------------------------------------

    def _opened(self, table: str, as_of: int | None = None) -> Any:  # noqa: ANN401  (untyped)
        """Return a table, or None when it is not there; one that is not known here is left to Spark."""
        from deltalake import DeltaTable  # noqa: PLC0415  (it takes a while)

        known = self._known.pop(table, None) if as_of is None else None
        if known is not None and self._mark(table, known[0].version()) == known[1]:
            found = known[0]
            if self._mark(table, found.version() + 1) is not None:
                found.update_incremental()
        elif self.exists(table):
            found = DeltaTable(self._address(table), version=as_of)
        else:
            return None
        _require_features(table, found)
        if as_of is None and (mark := self._mark(table, found.version())) is not None:
            self._known[table] = found, mark
        return found

    def _rows(self, table: str, as_of: int | None = None) -> ds.Dataset | None:
        """Return the rows of a table, to be read; None when it is not there.

        Made here, and not by `deltalake`: there a file without a least and greatest value of a column, where others
        have one, has no rows.
        """
        with self._lock:
            found = self._opened(table, as_of)
            if found is None:
                return None
            schema, files = pa.schema(found.schema().to_arrow()), pa.table(found.get_add_actions(flatten=True))
        form = ds.ParquetFileFormat()
        part = f"partition.{PART}"
        parted = part in files.column_names
        if parted:  # as they were written
            files = files.sort_by([(part, "ascending"), ("path", "ascending")])
        known = {
            name: [files[f"{told}.{name}"].to_pylist() for told in ("min", "max", "null_count")]
            for name in noted_in(files)
        }
        if parted:
            known[PART] = [files[part].to_pylist(), files[part].to_pylist(), [0] * len(files)]
        fragments = []
        for place, name in enumerate(files["path"].to_pylist()):
            within = ds.scalar(True)
            for column, (least, greatest, nulls) in known.items():
                if least[place] is None or greatest[place] is None:
                    continue
                if least[place] == greatest[place] and nulls[place] == 0:  # then nobody reads it to compare
                    within &= pc.field(column) == least[place]
                else:
                    within &= (pc.field(column) >= least[place]) & (pc.field(column) <= greatest[place])
            path = self._path(table, unquote(name))
            fragments.append(form.make_fragment(path, self._files, partition_expression=within))
        return ds.FileSystemDataset(fragments, schema, form, self._files)

    @contextmanager
    def _changing(self, table: str) -> Iterator[Any]:
        """Yield a table that is there, to be changed; then see to what was written."""
        with self._lock:
            found = self._opened(table)
            if found is None:
                raise FileNotFoundError(self._address(table))
            version = found.version()
            yield found
            self._seal(table, version)

    def _create(
        self,
        table: str,
        schema: pa.Schema,
        actions: list[Any],
        facts: Any,  # noqa: ANN401  (untyped)
        properties: Mapping[str, str] | None,
    ) -> None:
        from deltalake import Schema  # noqa: PLC0415
        from deltalake.transaction import create_table_with_add_actions  # noqa: PLC0415

        create_table_with_add_actions(
            self._address(table),
            Schema.from_arrow(schema),
            actions,
            mode="error",
            partition_by=parts_of(table, schema),
            configuration=dict(properties or {}),
            **_committing(facts),
        )

    def _written(self, table: str, content: pa.Table) -> list[Any]:
        """Write rows as files, which count once an entry of the log names them."""
        from deltalake.transaction import AddAction  # noqa: PLC0415

        actions: list[Any] = []
        for values, part in pieces(table, content):
            name = f"part-{len(actions):05}-{uuid.uuid4()}-c000.parquet"
            size, written = self._put(table, name, part)
            told = json.dumps(noted(part))
            actions.append(AddAction(name, size, values, int(written * 1000), True, told))
        return actions

    def _seal(self, table: str, version: int) -> None:
        """See to the entries after a version."""
        last = version
        while self._mark(table, last + 1) is not None:
            last += 1
            self._seal_entry(table, last)
        if last // CHECKPOINT_ENTRIES > max(version, 0) // CHECKPOINT_ENTRIES:
            self._sum_up(table)

    def _sum_up(self, table: str) -> None:
        """Write a checkpoint of Delta's log. What it says is said elsewhere: where it cannot be written, it is not."""
        from deltalake.exceptions import DeltaError  # noqa: PLC0415

        try:
            found = self._opened(table)
            self._before_summary(table, found.version())
            found.create_checkpoint()
            del self._known[table]  # to be read from the checkpoint
        except (DeltaError, OSError) as error:
            _log.warning("The log of %s has no new checkpoint: %s", self._address(table), error)


def _chosen(rows: ds.Dataset, wanted: ds.Expression) -> tuple[ds.Dataset, ds.Expression | None]:
    """Leave files out that have no row that is wanted; and the question, where the log answers it for all the others.

    Arrow leaves files out by itself, but it reads every column that it is asked about.
    """
    files = list(rows.get_fragments(wanted))
    tokens = {ds.get_partition_keys(file.partition_expression).get("token") for file in files}
    if len(tokens) != 1 or None in tokens:
        return rows, wanted
    same = ds.dataset(pa.table({"token": list(tokens)}))
    try:
        is_answered = same.count_rows(filter=wanted) == 1
    except pa.ArrowInvalid:  # it is about other columns, too
        is_answered = False
    return ds.FileSystemDataset(files, rows.schema, rows.format, rows.filesystem), None if is_answered else wanted


def _require_features(table: str, found: Any) -> None:  # noqa: ANN401  (untyped)
    """Leave a table to Spark that has other features than those which are known here."""
    protocol = found.protocol()
    others = {*(protocol.reader_features or ()), *(protocol.writer_features or ())} - FEATURES
    if others or protocol.min_reader_version not in {1, 3} or protocol.min_writer_version not in {1, 2, 3, 4, 7}:
        told = ", ".join(sorted(others)) or f"of Delta's reader version {protocol.min_reader_version}"
        raise LeftToSparkError(f"the table {table!r} with the features {told}")


def _require_schema(table: str, found: Any, schema: pa.Schema) -> None:  # noqa: ANN401  (untyped)
    """Leave rows to Spark whose columns are not those of the table."""
    from deltalake import Schema  # noqa: PLC0415

    made = found.schema(), Schema.from_arrow(schema)
    have, come = ({field.name: field.type for field in each.fields} for each in made)
    if have != come:
        raise LeftToSparkError(f"rows with other columns than those of the table {table!r}")


def _committing(facts: Any = None) -> dict[str, Any]:  # noqa: ANN401  (untyped)
    """Return the options by which an entry of the log is written; checkpoints are written here."""
    from deltalake import PostCommitHookProperties  # noqa: PLC0415

    after = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
    return {"commit_properties": facts, "post_commithook_properties": after}


def _is_done(found: Any, once: Transaction) -> bool:  # noqa: ANN401  (untyped)
    known = found.transaction_version(once.application)
    return known is not None and known >= once.version
