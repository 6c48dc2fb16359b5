"""The files of the original programs with the scores and attention of each reference model."""

NEMATUS, MARIAN = 1e-4, 2e-4  # nats; relative to every 10 for scores above 10


# model -> the files with its scores in its folder; "dir/file" if another program wrote them
SCORES = {
    "a-shallow/model.npz": [
        "scores.txt", "scores.norm1.txt", "theano/scores.txt", "native/scores.txt",
        "dl4mt/session2.scores.txt", "marian-nematus/scores.txt", "marian-amun/scores.txt",
    ],
    "a-shallow/native/ref": ["native/scores.txt", "scores.txt"],
    "a-shallow/marian-nematus/model.npz": ["marian-nematus/scores.txt"],
    "b-layernorm/model.npz": [
        "scores.txt", "scores.norm1.txt", "theano/scores.txt", "native/scores.txt",
        "marian-nematus/scores.txt",
    ],
    "c-tied-dec/model.npz": [
        "scores.txt", "scores.norm1.txt", "theano/scores.txt", "native/scores.txt",
        "marian-nematus/scores.txt",
    ],
    "d-tied-all/model.npz": [
        "scores.txt", "scores.norm1.txt", "theano/scores.txt", "native/scores.txt",
        "marian-amun/scores.txt",
    ],
    "e-deep-tf/native/model-1500": ["native/scores.txt"],
    "e2-deep-theano/model.npz": ["scores.txt", "scores.norm1.txt", "theano/scores.txt"],
    "f-factors/model.npz": ["scores.txt", "scores.norm1.txt", "native/scores.txt"],
    "f-factors/model.padded.npz": ["scores.txt", "theano/scores.txt"],
    **{
        f"{folder}/model.npz": ["scores.txt", "scores.norm.txt"]
        for folder in ("marian-nematus", "marian-amun", "marian-s2s", "marian-nematus-ln",
                       "marian-amun-ln", "marian-s2s-deep", "marian-s2s-lstm", "marian-s2s-tanh",
                       "marian-s2s-bi-unidirectional", "marian-s2s-bi-uni-cell2-skip")
    },
    "dl4mt-session1/model.npz": ["costs.txt"],
}  # fmt: skip


OOV = {
    "a-shallow/model.npz": ["scores.oov.txt", "marian-nematus/scores.oov.txt",
                            "marian-amun/scores.oov.txt"],
    "b-layernorm/model.npz": ["scores.oov.txt", "marian-nematus/scores.oov.txt"],
    "c-tied-dec/model.npz": ["scores.oov.txt", "marian-nematus/scores.oov.txt"],
    "d-tied-all/model.npz": ["scores.oov.txt", "marian-amun/scores.oov.txt"],
    "e2-deep-theano/model.npz": ["scores.oov.txt"],
    "f-factors/model.npz": ["scores.oov.txt"],
}  # fmt: skip


ALIGNED = {
    "a-shallow/model.npz": "marian-amun",
    "b-layernorm/model.npz": "marian-nematus",
    "c-tied-dec/model.npz": "marian-nematus",
    "d-tied-all/model.npz": "marian-amun",
    "marian-nematus/model.npz": "",
    "marian-amun/model.npz": "",
    "marian-s2s/model.npz": "",
}
