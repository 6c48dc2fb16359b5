"""Pipes, files, signals, processes, and TensorFlow's start."""
