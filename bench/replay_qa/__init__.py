"""What bench/replay.py measures with."""
