"""A script of batches without an end, the same for the writer who is killed and for the one who checks what is left."""

from __future__ import annotations

import random

VERTICES = 29
EMPTY_EVERY = 11  # a batch that changes nothing makes a version, too


def batch(seed, number):
    """Return the changes of a batch; they depend on nothing but these two numbers."""
    rng = random.Random(f"{seed}:{number}")  # noqa: S311
    if number % EMPTY_EVERY == 0:
        return [("delete", "v0", "not there")]
    changes = []
    for _ in range(rng.randint(1, 9)):
        op = "insert" if rng.random() < 0.55 else "delete"
        changes.append((op, f"v{rng.randrange(VERTICES)}", f"v{rng.randrange(VERTICES)}"))
    return changes


def start(seed):
    """Return the edges before the first batch."""
    rng = random.Random(f"{seed}:start")  # noqa: S311
    return sorted({(f"v{rng.randrange(VERTICES)}", f"v{rng.randrange(VERTICES)}") for _ in range(2 * VERTICES)})
