"""Beams and samples, over one model or several."""
