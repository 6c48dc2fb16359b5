#!/usr/bin/env python3
"""wget, curl, git, make, nvidia-smi and sacreBLEU, with files from a folder instead of the network.

    downloads.py TOOLS BIN     writes TOOLS/sacreBLEU and programs in BIN: links to this program

The environment says where the text is: DATA holds `train`, `dev` and `test`, each with the ending
of the language, plain or .gz (`val` and `test_*` are found, too). Without it, quickstart/data.py
makes text in WORK. Of the training text the first PAIRS lines are taken, of the others TESTS. A
file or folder in DATA with the name that a script asks for is copied as it is.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from itertools import islice, pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = {"train": ("train",), "dev": ("dev", "val"), "test": ("test", "test_*")}
# end of an address -> names of the texts in that archive, without their two endings
ARCHIVES = {
    r"([a-z]{2}-[a-z]{2})\.tgz": "europarl-v7.{}",
    r"SETIMES2/([a-z]{2}-[a-z]{2})\.txt\.zip": "SETIMES.{}",
    r"training-parallel-commoncrawl\.tgz": "commoncrawl.de-en",
    r"training-parallel-nc-v12\.tgz": "training/news-commentary-v12.de-en",
}
VALUES = {"-P", "-e", "-R", "-l", "-A"}  # options of wget with a value


def lines(part: str, language: str, pair: str) -> list[str]:
    """The first lines of a text. part: train, dev or test; pair: such as ro-en."""
    count = int(os.environ["PAIRS" if part == "train" else "TESTS"])
    data = Path(os.environ["DATA"] or made(pair))
    for name in NAMES[part]:
        for path in sorted(data.glob(f"{name}.{language}*")):
            if path.name.endswith((f".{language}", f".{language}.gz")):
                opened = gzip.open if path.suffix == ".gz" else open
                with opened(path, "rt", encoding="utf-8", newline="\n") as file:
                    return list(islice(file, count))
    sys.exit(f"{data}/{part}.{language}: no such file, nor with .gz")


def made(pair: str) -> Path:
    """The folder of a text that quickstart/data.py makes in the languages of a pair."""
    source, target = sorted(pair.split("-"))
    folder = Path(os.environ["WORK"], f"data.{source}-{target}")
    if not (folder / f"train.{target}").exists():  # the last file that data.py writes
        sizes = ["--train", os.environ["PAIRS"], "--dev", os.environ["TESTS"]]
        command = [sys.executable, HERE.parent / "quickstart/data.py", folder]
        command += ["-s", source, "-t", target, *sizes, "--test", os.environ["TESTS"]]
        subprocess.run(command, check=True)
    return folder


def own(name: str) -> Path | None:
    """The file or folder of DATA with this name, if there is one."""
    path = Path(os.environ["DATA"], name)
    return path if os.environ["DATA"] and path.exists() else None


def content(address: str) -> bytes:
    """The file at an address: an archive with texts, or a packed text."""
    if path := own(Path(address).name):
        return path.read_bytes()
    for pattern, name in ARCHIVES.items():
        if found := re.search(f"{pattern}$", address):
            name = name.format(*found.groups())
            pair = name[-5:]
            texts = {
                f"{name}.{language}": "".join(lines("train", language, pair)).encode()
                for language in pair.split("-")
            }
            return archive(texts, packed=address.endswith(".zip"))
    if found := re.search(r"\.([a-z]{2})(?:\.shuffled)?\.gz$", address):
        pair = re.search(r"\b[a-z]{2}-[a-z]{2}\b", address)
        other = "de" if found[1] == "en" else "en"
        text = "".join(lines("train", found[1], pair[0] if pair else f"{found[1]}-{other}"))
        return gzip.compress(text.encode())
    sys.exit(f"{address}: put a file of this name into DATA")


def archive(texts: dict[str, bytes], *, packed: bool) -> bytes:
    """A .zip (packed) or .tgz of texts."""
    buffer = io.BytesIO()
    if packed:
        with zipfile.ZipFile(buffer, "w") as file:
            for name, data in texts.items():
                file.writestr(name, data)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as file:
            for name, data in texts.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                file.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def download(arguments: list[str]) -> None:
    """wget and curl: write each address to a file, or to standard output if they would."""
    is_curl = Path(sys.argv[0]).name == "curl"
    addresses, folder, output = [], ".", "-" if is_curl else ""
    rest = iter(arguments)
    for argument in rest:
        named = re.fullmatch("-[a-zA-Z]*o|--output" if is_curl else "-[a-z]*O(-?)", argument)
        if named:
            output = "-" if argument.endswith("O-") else next(rest)
        elif is_curl and re.fullmatch("-[a-zA-Z]*O|--remote-name", argument):
            output = ""
        elif argument in VALUES and not is_curl:
            value = next(rest)
            folder = value if argument == "-P" else folder
        elif "://" in argument:
            addresses.append(argument)
    for address in addresses:
        path = Path(folder, output or Path(address).name)
        if address.endswith("/"):
            lay_down(Path(address).name)
        elif output == "-":
            sys.stdout.buffer.write(content(address))
        elif "-nc" not in arguments or not path.exists():
            path.write_bytes(content(address))


def lay_down(name: str) -> None:
    """A folder of this name in DATA, or a small model like Edinburgh's of WMT16."""
    if path := own(name):
        shutil.copytree(path, name, dirs_exist_ok=True)
    elif re.fullmatch("[a-z]{2}-[a-z]{2}", name):
        raw = Path(os.environ["WORK"], f"raw.{name}")
        raw.mkdir(exist_ok=True)
        for language in name.split("-"):
            (raw / f"train.{language}").write_text("".join(lines("train", language, name)), "utf-8")
        subprocess.run([HERE / "model.sh", raw, name, *name.split("-")], check=True)
    else:
        sys.exit(f"{name}: put a folder of this name into DATA")


def git(arguments: list[str]) -> None:
    """`git clone`: links to the stand-ins; any other command does nothing."""
    if arguments[:1] != ["clone"]:
        return print(f"git {' '.join(arguments)}: left out", file=sys.stderr)
    address = next(a for a in arguments if "://" in a or a.startswith("git@"))
    name = Path(address).stem
    place = Path(arguments[-1] if arguments[-1] != address else name)
    tools = {"mosesdecoder": "moses-scripts", "moses-scripts": "moses-scripts"}
    tool = Path(os.environ["TOOLS"]) / tools.get(name, name)
    if not tool.is_dir():
        sys.exit(f"git clone {address}: this repository is not available here")
    if not place.exists():
        place.symlink_to(tool)


def sacrebleu(arguments: list[str]) -> None:
    """sacrebleu.py: `-t SET -l PAIR` means DATA's dev (wmt16/dev) or test text."""
    if "-t" not in arguments:
        os.execvp("sacrebleu", ["sacrebleu", *arguments, "-f", "text"])
    values = dict(pairwise(arguments))
    pair = values["-l"]
    part = "dev" if values["-t"].endswith("/dev") else "test"
    source, target = pair.split("-")
    if "--echo" in arguments:
        language = source if values["--echo"] == "src" else target
        sys.stdout.write("".join(lines(part, language, pair)))
        return
    reference = Path(os.environ["WORK"], f"{part}.{pair}.{target}")
    reference.write_text("".join(lines(part, target, pair)), "utf-8")
    os.execvp("sacrebleu", ["sacrebleu", str(reference), "-f", "text"])


def leave_out(arguments: list[str]) -> None:
    """make, nvidia-smi: nothing."""


PROGRAMS = {
    "wget": download,
    "curl": download,
    "git": git,
    "make": leave_out,
    "nvidia-smi": leave_out,
    "sacrebleu.py": sacrebleu,
}


def write(tools: Path, programs: Path) -> None:
    """Write links to this program, under all its names."""
    for name in PROGRAMS:
        path = (tools / "sacreBLEU" if name == "sacrebleu.py" else programs) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.symlink_to(Path(__file__).resolve())


def main() -> None:
    name = Path(sys.argv[0]).name
    if name in PROGRAMS:
        PROGRAMS[name](sys.argv[1:])
    else:
        write(*map(Path, sys.argv[1:]))


if __name__ == "__main__":
    main()
