"""Labelled brackets compared, by the conventions of evalb."""
