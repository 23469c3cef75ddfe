"""BooleanPolynomial in this process, against the guarantee, the paper's loops, and itself."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from dyntc_spark.blocks import where
from dyntc_spark.blocks.local import LocalState
from dyntc_spark.blocks.matrix import BlockMatrix
from dyntc_spark.blocks.operations import CountEntries
from dyntc_spark.errors import DyntcError, EntryValueError, IndexOutsideError, ShapeMismatchError
from dyntc_spark.matrices import counted_product
from dyntc_spark.matrices.polynomial.boolean_polynomial import BooleanPolynomial
from dyntc_spark.matrices.polynomial.invariant import BrokenInvariantError
from tests.matrices.polynomial_oracle import Degree2, DegreeK, History
from tests.matrices.polynomial_scripts import FORMS, apply, compare, dense, draw, machine, remember, run, value

NEVER = float("inf")


def checked(polynomial, history):
    polynomial.check_invariant()
    compare(polynomial, history)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [2, 64])
def test_every_product_counts_what_the_guarantee_says_after_each_operation(form, size):
    for seed in range(8):
        polynomial = BooleanPolynomial(*FORMS[form], size=size, rebuild_share=NEVER)
        run(polynomial, np.random.default_rng(seed), 18, checked)


@pytest.mark.long
@pytest.mark.parametrize("form", ["product", "square", "section 5", "section 6, Q"])
def test_without_lazy_set_the_value_is_exact_however_reset_works(form):
    def exact(polynomial, history):
        polynomial.check_invariant()
        assert np.array_equal(value(polynomial), history.value())

    for seed, share in enumerate([0, 1e-15, NEVER] * 4):
        polynomial = BooleanPolynomial(*FORMS[form], size=2, rebuild_share=share)
        run(polynomial, np.random.default_rng(seed), 20, exact, lazy=False)
        rebuilt = polynomial.stats()["resets_by_rebuild"]
        assert rebuilt == 0 if share == NEVER else polynomial.stats()["resets_by_scan"] == 0


def test_a_pending_lazy_set_forbids_the_rebuild():
    p = BooleanPolynomial("A*B", 3, rebuild_share=0)
    p.init({"A": np.ones((3, 3), bool), "B": np.ones((3, 3), bool)})
    p.reset("A", ([0], [0]))
    assert p.stats()["resets_by_rebuild"] == 1
    p.lazy_set("A", ([0], [0]))
    p.reset("A", ([1], [1]))
    p.check_invariant()
    assert (p.stats()["resets_by_rebuild"], p.stats()["resets_by_scan"]) == (1, 1)
    assert dense(p.state, "Prod_1")[0].tolist() == [2, 2, 2]  # the entry that is pending stayed so


@pytest.mark.parametrize("n", [5, 12])
def test_the_papers_loops_for_degree_2_say_the_same_about_every_matrix(n):
    shapes = {"A": (n, n - 1), "B": (n - 1, n), "C": (n, 2), "D": (2, n)}
    for seed in range(3):
        p = BooleanPolynomial("A*B + C*D", shapes, size=4, rebuild_share=NEVER)
        literal = Degree2([(shapes["A"], shapes["B"]), (shapes["C"], shapes["D"])])
        where = {"A": (0, 0), "B": (0, 1), "C": (1, 0), "D": (1, 1)}
        rng = np.random.default_rng(seed)
        for _ in range(15):
            kind, *arguments = operation = draw(rng, p.layout, density=0.3)
            apply(p, operation)
            if kind == "init":
                literal.init([[arguments[0][name] for name in pair] for pair in ("AB", "CD")])
            else:
                getattr(literal, kind)(*where[arguments[0]], *arguments[1:])
            assert p.time == literal.time
            assert np.array_equal(dense(p.state, "S"), literal.s)
            for name, (a, b) in where.items():
                assert np.array_equal(dense(p.state, f"X_{name}"), literal.x[a][b])
                assert np.array_equal(dense(p.state, f"F_{name}"), np.where(literal.x[a][b], literal.flip[a][b], 0))
            for a, prod in enumerate(literal.prod):
                assert np.array_equal(dense(p.state, f"Prod_{a + 1}"), prod)


@pytest.mark.long
@pytest.mark.parametrize("form", ["degree 3", "degree 4", "section 5", "section 6, Q", "section 6, E"])
def test_the_papers_chains_say_the_same(form):
    expression, shapes = FORMS[form]
    wider = {name: (2 * rows, 2 * columns) for name, (rows, columns) in shapes.items()}
    for seed in range(2):
        p = BooleanPolynomial(expression, wider, size=3, rebuild_share=NEVER)
        literal = DegreeK(p.polynomial.terms, wider)
        rng = np.random.default_rng(seed)
        for _ in range(12):
            operation = draw(rng, p.layout, density=0.2)
            apply(p, operation)
            apply(literal, operation)
            assert np.array_equal(value(p), literal.lookup())
            for (a, side, b, j), chain in literal.chain.items():
                if len(literal.terms[a]) > 2:
                    assert np.array_equal(dense(p.state, f"{side}_{a + 1}_{b}_{j}"), chain.prod[0])


@pytest.mark.long
def test_state_machine():
    run_state_machine_as_test(
        machine(lambda form: BooleanPolynomial(*FORMS[form], size=2, rebuild_share=NEVER)),
        settings=settings(max_examples=40, stateful_step_count=25),
    )


# --- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [63, 64, 65, 130])
def test_sizes_around_the_block(n):
    rng = np.random.default_rng(n)
    p = BooleanPolynomial("A*B + V", {"A": (n, 7), "B": (7, n), "V": (n, n)}, size=64, rebuild_share=NEVER)
    run(p, rng, 12, compare, density=0.05)


@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 3, 2), (2, 0, 3), (3, 2, 0), (1, 1, 1)])
@pytest.mark.parametrize("expression", ["A*B", "A*I*B", "A*B + C"])
def test_degenerate_sizes(shape, expression):
    m, q, n = shape
    shapes = {"A": (m, q), "B": (q, n), "I": (q, q), "C": (m, n)}
    p = BooleanPolynomial(expression, {v: s for v, s in shapes.items() if v in expression})
    full = {name: np.ones(shape, bool) for name, shape in p.layout.shapes.items()}
    p.init(full)
    assert np.array_equal(value(p), np.full((m, n), q > 0 or "C" in expression))
    for name, (rows, columns) in p.layout.shapes.items():
        if rows:
            p.set_row(name, 0, np.ones(columns, bool))
        p.lazy_set(name, full[name])
        p.reset(name, full[name])
        if columns:
            p.set_col(name, columns - 1, np.zeros(rows, bool))
        p.check_invariant()
    assert not value(p).any()


def test_empty_rows_reveal_what_is_pending():
    p = BooleanPolynomial("A*B", 3)
    p.lazy_set("A", ([0], [1]))
    p.lazy_set("B", ([1], [2]))
    assert not value(p).any()
    p.set_row("A", 1, [])
    assert not value(p).any()
    p.set_row("A", 0, [])
    assert np.argwhere(value(p)).tolist() == [[0, 2]]


def test_values_may_come_as_entries_arrays_and_matrices():
    rows, columns = [0, 2], [1, 0]
    array = np.zeros((3, 3), bool)
    array[rows, columns] = True
    matrix = BlockMatrix.from_entries((rows, columns), shape=(3, 3), size=2)
    for given in ((rows, columns), [rows, columns], array, matrix):
        p = BooleanPolynomial("A", 3, size=2)
        p.init({"A": given})
        assert np.array_equal(value(p), array)
        assert p.variable("A").equals(matrix)
    assert repr(p) == "BooleanPolynomial(A, 3 x 3 in blocks of 2 x 2, in process)"


@pytest.mark.parametrize("share", [0, NEVER])
def test_reset_tells_what_vanished(share):
    for form in ("sum of products", "section 5", "section 6, Q"):
        rng = np.random.default_rng(0)
        p = BooleanPolynomial(*FORMS[form], size=2, rebuild_share=share)
        for _ in range(12):
            apply(p, draw(rng, p.layout, lazy=False))
            before, (name, shape) = value(p), next(iter(p.layout.shapes.items()))
            rows, columns = p.reset(name, rng.random(shape) < 0.3)
            told = sorted(zip(rows.tolist(), columns.tolist(), strict=True))
            assert told == [tuple(place) for place in np.argwhere(before & ~value(p)).tolist()]


# --- erratum 2 and 4 by hand ---------------------------------------------------------------------


def test_three_operations_leave_no_phantom():
    p = BooleanPolynomial("A*B", 1)
    p.lazy_set("A", ([0], [0]))
    p.set_row("B", 0, [0])
    assert value(p)[0, 0]
    p.reset("A", ([0], [0]))
    assert not value(p)[0, 0]


def test_a_second_witness_that_came_lazily_is_not_counted():
    p = BooleanPolynomial("A*B", 2)
    p.set_col("B", 0, [0, 1])
    p.set_row("A", 0, [0])
    p.lazy_set("A", ([0], [1]))
    p.reset("A", ([0], [0]))
    assert not value(p)[0, 0]
    p.set_row("A", 0, [])
    assert value(p)[0, 0]


# --- what is kept, and how ------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "counts", "copies"), [(2, 6, 10), (3, 11, 20), (4, 18, 34), (6, 38, 74)])
def test_fewer_matrices_than_the_table_of_the_errata(k, counts, copies):
    p = BooleanPolynomial("*".join(f"X{b}" for b in range(k)), 3)
    stats = p.stats()
    assert stats["count_matrices"] == (2 if k == 2 else k * k) <= counts
    assert stats["bit_matrices"] == stats["stamp_matrices"] == k <= copies
    assert len(stats["matrices"]) == stats["count_matrices"] + 2 * k
    repeated = BooleanPolynomial("V^" + str(k), 3).stats()
    assert repeated["bit_matrices"] == repeated["stamp_matrices"] == 1


@pytest.mark.parametrize(("inner", "kind"), [(100, np.int8), (300, np.int16), (40_000, np.int32)])
def test_counts_are_as_narrow_as_the_inner_size_allows(inner, kind):
    p = BooleanPolynomial("A*B", {"A": (2, inner), "B": (inner, 2)}, size=64)
    p.set_row("A", 0, np.ones(inner, bool))
    p.set_col("B", 1, np.ones(inner, bool))
    state = p.state
    assert isinstance(state, LocalState)
    assert state.blocks["Prod_1"][0, 0].values.dtype == kind
    assert {block.values.dtype for block in state.blocks["F_B"].values()} == {np.dtype(np.int32)}
    assert dense(state, "Prod_1").tolist() == [[0, inner], [0, 0]]
    p.init({"A": np.ones((2, inner), bool), "B": np.eye(inner, 2, dtype=bool)})
    assert {block.values.dtype for block in p.state.blocks["Prod_1"].values()} == {np.dtype(kind)}
    assert {block.values.dtype for block in p.state.blocks["S"].values()} == {np.dtype(np.int8)}


def test_stamps_renumber_themselves():
    for seed in range(6):
        form = list(FORMS)[seed % len(FORMS)]
        p = BooleanPolynomial(*FORMS[form], size=2, rebuild_share=NEVER, largest_stamp=40)
        run(p, np.random.default_rng(seed), 70, compare)
        assert p.stats()["renumberings"] > 0
        assert p.time <= 40
        p.check_invariant()


def test_a_clock_that_cannot_tell_the_boundaries_apart_is_refused():
    with pytest.raises(EntryValueError, match="largest stamp"):
        BooleanPolynomial("A*B", 10, largest_stamp=30)


def test_reset_of_what_was_never_revealed_costs_nothing():
    n = 60
    p = BooleanPolynomial("A*B", n, size=16)
    p.init({"B": np.ones((n, n), bool)})
    p.lazy_set("A", np.ones((n, n), bool))
    p.reset("A", np.ones((n, n), bool))
    assert p.stats()["triples_scanned"] == 0
    assert p.stats()["resets_of_nothing_counted"] == 1


def test_reset_does_not_take_away_what_the_other_factor_has_pending():
    n = 60
    p = BooleanPolynomial("A*B", n, size=16)
    p.init({"A": np.ones((n, n), bool), "B": np.eye(n, dtype=bool)})
    p.lazy_set("B", np.ones((n, n), bool))
    p.reset("A", (np.zeros(n, int), np.arange(n)))
    assert p.stats()["triples_scanned"] == n * n  # one row
    p.check_invariant()


@pytest.mark.parametrize("form", ["product", "square", "degree 4"])
@pytest.mark.parametrize("bytes_a_place", [0, 10**9])
def test_losses_are_written_by_lines_or_place_by_place(form, bytes_a_place, monkeypatch):
    monkeypatch.setattr(counted_product, "PLACE_BYTES", bytes_a_place)
    for seed in range(5):
        run(BooleanPolynomial(*FORMS[form], size=2, rebuild_share=NEVER), np.random.default_rng(seed), 15, checked)


def test_an_update_of_more_cells_than_can_be_listed(monkeypatch):
    monkeypatch.setattr(where, "LISTED_CELLS", 1)
    for seed in range(5):
        p = BooleanPolynomial(*FORMS["square"], size=1, rebuild_share=NEVER)
        run(p, np.random.default_rng(seed), 15, checked)


def test_reset_looks_at_the_centres_in_the_order_of_their_stamps():
    n = 40
    p = BooleanPolynomial("A*B", n, size=16, rebuild_share=NEVER)
    p.init({"B": np.ones((n, n), bool)})
    p.lazy_set("A", np.ones((n, n), bool))
    for z in (3, 35):
        p.set_col("B", z, [])
    p.reset("A", (np.arange(n), np.arange(n)))
    p.check_invariant()
    assert np.argwhere(dense(p.state, "Prod_1") == n - 1).tolist() == [[x, z] for x in range(n) for z in (3, 35)]


def test_reset_touches_only_blocks_that_the_deleted_entries_can_reach():
    rng = np.random.default_rng(0)
    p = BooleanPolynomial("A*B*C", 20, size=5, rebuild_share=NEVER)
    blocks = np.kron(np.eye(4, dtype=bool), np.ones((5, 5), bool))  # four parts that never meet
    p.init({name: blocks & (rng.random((20, 20)) < 0.6) for name in "ABC"})
    before = p.state
    p.reset("B", (np.arange(5, 10), np.arange(5, 10)))
    p.check_invariant()
    for name, found in before.blocks.items():
        kept = p.state.blocks[name]
        assert all(block is kept[at] for at, block in found.items() if at != (1, 1)), name


# --- reading, errors ------------------------------------------------------------------------------


def test_the_new_value_can_be_read_in_the_step_that_writes_it():
    p = BooleanPolynomial("A*B", 5, size=2)
    row, column = p.reading(rows=[1]), p.reading(columns=[4, 0])
    p.set_row("B", 0, [0, 4])
    found = p.set_col("A", 0, [1, 3], then=[row, column, CountEntries("S")])
    assert [line.tolist() for line in (found[0].array() > 0)] == [[True, False, False, False, True]]
    assert (found[1].array() > 0).sum(axis=0).tolist() == [2, 2]
    assert found[2] == 4
    assert p.lazy_set("A", ([0], [0]), then=[CountEntries("S")]) == (4,)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda p: p.set_row("Z", 0, [0]), EntryValueError),
        (lambda p: p.init({"Z": ([], [])}), EntryValueError),
        (lambda p: p.set_row("A", 3, [0]), IndexOutsideError),
        (lambda p: p.set_col("A", 0, [3]), IndexOutsideError),
        (lambda p: p.set_row("A", 0, np.ones(2, bool)), ShapeMismatchError),
        (lambda p: p.lazy_set("A", ([0, 1], [0])), ShapeMismatchError),
        (lambda p: p.reset("A", np.ones((2, 2), bool)), ShapeMismatchError),
        (lambda p: p.lazy_set("A", ([-1], [0])), IndexOutsideError),
        (lambda p: p.reading(), ShapeMismatchError),
        (lambda p: p.init({"A": BlockMatrix.from_entries(([], []), shape=(3, 4))}), DyntcError),
    ],
)
def test_bad_input_changes_nothing(call, error):
    p = BooleanPolynomial("A*B", 3)
    p.init({"A": np.eye(3, dtype=bool), "B": np.eye(3, dtype=bool)})
    with pytest.raises(error):
        call(p)
    assert (p.time, p.stats()["set"]) == (1, 0)
    assert np.array_equal(value(p), np.eye(3, dtype=bool))


@pytest.mark.parametrize(
    ("expression", "shapes", "match"),
    [
        ("A*B", {"A": (2, 3), "B": (2, 3)}, "as many rows of B as columns of A"),
        ("A + B", {"A": (2, 3), "B": (3, 3)}, "terms of one shape"),
        ("A*B", {"A": (2, 2)}, "shapes for A, B"),
        ("A", {"A": (2, 2), "B": (2, 2)}, "shapes for A"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(expression, shapes, match):
    with pytest.raises(ShapeMismatchError, match=match):
        BooleanPolynomial(expression, shapes)


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("steps", range(5))
@pytest.mark.parametrize("kind", ["init", "set_row", "set_col", "lazy_set", "reset"])
def test_an_operation_that_fails_half_way_changes_nothing(monkeypatch, kind, steps):
    rng = np.random.default_rng(steps)
    p = BooleanPolynomial(*FORMS["section 6, Q"], size=2, rebuild_share=NEVER)
    history = History(p.layout)
    full = {name: np.ones(shape, bool) for name, shape in p.layout.shapes.items()}
    for operation in [("init", full), *(draw(rng, p.layout) for _ in range(6))]:
        apply(p, operation)
        remember(history, operation)
    before, plain, left = p.stats(), LocalState.run, [steps]

    def stopping(state, *operations):
        if not left[0]:
            raise StoppedError
        left[0] -= 1
        return plain(state, *operations)

    last = {"init": (full,), "set_row": ("P", 0, [0, 1]), "set_col": ("P", 1, [0]), "reset": ("P", full["P"])}
    monkeypatch.setattr(LocalState, "run", stopping)
    try:
        apply(p, (kind, *last.get(kind, ("P", full["P"]))))
    except StoppedError:
        monkeypatch.undo()
        assert p.stats() == before
        checked(p, history)
    else:
        monkeypatch.undo()
        p.check_invariant()


def test_a_wrong_count_is_found():
    p = BooleanPolynomial("A*B", 3)
    p.init({"A": np.eye(3, dtype=bool), "B": np.eye(3, dtype=bool)})
    p.state.blocks["Prod_1"].clear()
    with pytest.raises(BrokenInvariantError, match=r"expected 1 in Prod_1 at \(0, 0\)"):
        p.check_invariant()
