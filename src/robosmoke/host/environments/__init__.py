"""Make a benchmark's environment (venv or image) and run the guest inside it."""
