"""Meta-World: fifty tabletop tasks for one simulated Sawyer arm."""
