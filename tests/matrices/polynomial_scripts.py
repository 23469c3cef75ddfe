"""Random scripts of operations, and what applies them to a polynomial and to its slow twins."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.matrices.polynomial_oracle import History

#: Polynomials of the paper, and shapes that tell rows from columns.
FORMS = {
    "product": ("A*B", {"A": (3, 4), "B": (4, 2)}),
    "sum of products": ("A*B + C*D", {"A": (3, 2), "B": (2, 4), "C": (3, 3), "D": (3, 4)}),
    "square product": ("A*B", {"A": (4, 4), "B": (4, 4)}),
    "square": ("V*V", {"V": (4, 4)}),
    "degree 1": ("A + B", {"A": (3, 4), "B": (3, 4)}),
    "degree 3": ("A*B*C", {"A": (3, 2), "B": (2, 4), "C": (4, 3)}),
    "degree 4": ("A*B*C*D", {"A": (3, 2), "B": (2, 3), "C": (3, 2), "D": (2, 3)}),
    "section 5": ("V + V^2 + V^3", {"V": (3, 3)}),
    "section 6, Q": ("A + B*P^2*C", {"A": (3, 3), "B": (3, 2), "P": (2, 2), "C": (2, 3)}),
    "section 6, E": ("E*B*H^2*C*E", {"E": (2, 2), "B": (2, 2), "H": (2, 2), "C": (2, 2)}),
}


def draw(rng, layout, density=0.4, lazy=True):
    """An operation: its name and its arguments, Boolean arrays."""
    names = layout.variables
    name = names[rng.integers(len(names))]
    rows, columns = layout.shapes[name]
    kinds = ["init", "set_row", "set_col", "lazy_set", "reset", "reset_one"]
    weights = np.array([0.03, 0.25, 0.25, 0.17 if lazy else 0, 0.15, 0.15])
    kind = rng.choice(kinds, p=weights / weights.sum())
    if kind == "init":
        return kind, {v: rng.random(layout.shapes[v]) < density for v in names}
    if kind == "set_row":
        return kind, name, int(rng.integers(rows)), (rng.random(columns) < density) & (rng.random() < 0.7)
    if kind == "set_col":
        return kind, name, int(rng.integers(columns)), (rng.random(rows) < density) & (rng.random() < 0.7)
    if kind == "lazy_set":
        return kind, name, rng.random((rows, columns)) < density / 2
    delta = rng.random((rows, columns)) < density
    if kind == "reset_one":
        delta[:] = False
        delta[rng.integers(rows), rng.integers(columns)] = True
    return "reset", name, delta


def apply(polynomial, operation):
    kind, *arguments = operation
    getattr(polynomial, kind)(*arguments)


def remember(history, operation):
    """Tell the history what happened."""
    kind, *arguments = operation
    if kind == "init":
        history.var = {name: np.array(value, bool) for name, value in arguments[0].items()}
        history.step(everything=True)
        return
    name = arguments[0]
    boundaries, index = [], 0
    if kind in {"lazy_set", "reset"}:
        delta = arguments[1]
    else:
        index, delta = arguments[1], np.zeros_like(history.var[name])
        delta[index if kind == "set_row" else (slice(None), index)] = arguments[2]
        boundaries = [(a, b - (kind == "set_row")) for a, b in history.layout.occurrences[name]]
    history.var[name] = history.var[name] & ~delta if kind == "reset" else history.var[name] | delta
    history.step(boundaries, index)


def dense(state, name):
    rows, columns, values = state.entries(name)
    array = np.zeros(state.kinds[name].grid.shape, int)
    array[rows, columns] = values
    return array


def value(polynomial):
    """Lookup as an array."""
    matrix = polynomial.lookup()
    return dense(matrix.state, matrix.name) > 0


def compare(polynomial, history):
    """Every product against the history, Y between what was revealed and P."""
    state = polynomial.state
    state = state.to_local() if hasattr(state, "to_local") else state  # one job for all matrices
    for name, counts in history.counts().items():
        assert np.array_equal(dense(state, name), counts), name
    found = value(polynomial)
    assert np.array_equal(found, history.lookup())
    assert not (found & ~history.value()).any()


def run(polynomial, rng, length, check=compare, **options):
    """Run a random script beside its history and check after each operation; give the script."""
    history, script = History(polynomial.layout), []
    for _ in range(length):
        operation = draw(rng, polynomial.layout, **options)
        script.append(operation)
        apply(polynomial, operation)
        remember(history, operation)
        check(polynomial, history)
    return script


def machine(make, forms=tuple(FORMS), check=compare, last=None):  # noqa: C901  (the rules of one machine)
    """A state machine over all operations; ``make(form)`` gives the polynomial; ``last`` checks at the end."""

    class Machine(RuleBasedStateMachine):
        @initialize(form=st.sampled_from(forms))
        def start(self, form):
            self.polynomial = make(form)
            self.history = History(self.polynomial.layout)

        def apply(self, *operation):
            apply(self.polynomial, operation)
            remember(self.history, operation)

        def pick(self, data):
            name = data.draw(st.sampled_from(self.polynomial.layout.variables))
            return name, *self.polynomial.layout.shapes[name]

        def delta(self, data, rows, columns):
            places = data.draw(st.sets(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)), max_size=6))
            found = np.zeros((rows, columns), bool)
            for place in places:
                found[place] = True
            return found

        @rule(data=st.data())
        def set_row(self, data):
            name, rows, columns = self.pick(data)
            self.apply("set_row", name, data.draw(st.integers(0, rows - 1)), self.delta(data, 1, columns)[0])

        @rule(data=st.data())
        def set_col(self, data):
            name, rows, columns = self.pick(data)
            self.apply("set_col", name, data.draw(st.integers(0, columns - 1)), self.delta(data, rows, 1)[:, 0])

        @rule(data=st.data())
        def lazy_set(self, data):
            name, rows, columns = self.pick(data)
            self.apply("lazy_set", name, self.delta(data, rows, columns))

        @rule(data=st.data())
        def reset(self, data):
            name, rows, columns = self.pick(data)
            self.apply("reset", name, self.delta(data, rows, columns))

        @rule(data=st.data())
        def init(self, data):
            shapes = self.polynomial.layout.shapes
            self.apply("init", {name: self.delta(data, *shape) for name, shape in shapes.items()})

        @invariant()
        def holds(self):
            if hasattr(self, "history"):
                check(self.polynomial, self.history)

        def teardown(self):
            if last and hasattr(self, "history"):
                last(self.polynomial, self.history)

    return Machine
