"""The engines that execute `ops`.

`tensorflow` trains, with `scan` for gradients. `onnx` builds graphs: `onnx_tensor` are its tensors,
`onnx_graph` is a graph under construction, and `onnx_messages` writes it as bytes.
"""
