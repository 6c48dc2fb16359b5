"""The engines that execute `ops`: `tensorflow`, with `scan` for gradients, and `onnx`."""
