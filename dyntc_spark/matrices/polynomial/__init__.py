"""Section 4.1: polynomials over Boolean matrices."""
