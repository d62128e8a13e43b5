"""What commands that open trained runs have in common."""

from __future__ import annotations

import argparse


def add_trust_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help="let a run's model.factory import and run code of whoever made the run",
    )
