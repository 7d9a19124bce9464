"""LIBERO: 130 language-conditioned tabletop tasks in five suites for one simulated Panda arm."""
