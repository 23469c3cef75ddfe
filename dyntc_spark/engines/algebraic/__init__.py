"""Engines over random weights and path counts: sections 4.2 and 7 of the paper, and Sankowski 2004."""
