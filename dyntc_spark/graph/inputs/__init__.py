"""What users hand in: read, brought to a few types, and numbered."""
