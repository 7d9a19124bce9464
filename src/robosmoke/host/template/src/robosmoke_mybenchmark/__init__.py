"""My Benchmark, as a robosmoke benchmark."""
