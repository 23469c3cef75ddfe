"""Dynamic matrices: polynomials under updates (section 4.1) and sums with lazy buffers (section 4.2)."""
