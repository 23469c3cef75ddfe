"""The paper's deterministic engines (sections 5 and 6) and what replaces section 6."""
