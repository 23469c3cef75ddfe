"""What the user touches: vertices of any type, changes, DynamicClosure."""
