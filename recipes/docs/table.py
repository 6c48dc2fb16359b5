#!/usr/bin/env python3
"""Print the scores of run.sh as tables: table.py OUT"""

import json
import sys
from pathlib import Path

TESTS = ("test.domain", "test.general")
NOISES = ("caps", "typos", "no-stop", "joined")


def scored(path: Path) -> str:
    """Read BLEU and chrF from sacreBLEU's output, with half the width of their 95 % intervals."""
    if not path.exists():
        return " | "
    cells = []
    for metric in json.loads(path.read_text()):
        cells.append(f"{metric['score']:.1f} ± {float(metric['confidence_var']):.1f}")
    return " | ".join(cells)


def main() -> int:
    """Print a row for each system, in the order in which they were scored, then the noise."""
    out = Path(sys.argv[1])
    first = sorted(out.glob(f"scores/*.{TESTS[0]}.json"), key=lambda path: path.stat().st_mtime)
    print("| system | CPU minutes | domain: BLEU | chrF | general: BLEU | chrF |")
    print("|---|---|---|---|---|---|")
    for path in first:
        name = path.name.removesuffix(f".{TESTS[0]}.json")
        clock = out / name / "trained"
        minutes = f"{float(clock.read_text()):.0f}" if clock.exists() else ""
        scores = [scored(path.with_name(f"{name}.{test}.json")) for test in TESTS]
        print(f"| {name} | {minutes} | {' | '.join(scores)} |")
    if not list(out.glob(f"scores/*.{TESTS[0]}-*.json")):
        return 0
    print(
        "\n| noise | base: BLEU | chrF | trained with noise: BLEU | chrF |\n|---|---|---|---|---|"
    )
    for noise in NOISES:
        scores = [scored(out / f"scores/{n}.{TESTS[0]}-{noise}.json") for n in ("base", "noise")]
        print(f"| {noise} | {' | '.join(scores)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
