"""Section 4.2: a matrix with lazy updates of low rank."""
