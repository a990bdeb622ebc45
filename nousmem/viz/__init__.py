"""Pictures of rankings and sweeps: `from nousmem.viz import plots`.

Needs the extra `notebooks`; importing this package alone does not load matplotlib.
"""
