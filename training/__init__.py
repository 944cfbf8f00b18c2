"""Trainers and evaluation; run from the checkout with `python -m training.NAME`."""

from pathlib import Path

import agents
from othello_env.command import explain_import_errors

if Path(agents.__file__ or "").parents[1] != Path(__file__).parents[1]:
    raise ImportError(
        f"the package 'agents' that Python finds is {agents.__file__}, not the one beside training: "
        "run from the checkout, where no other distribution of that name comes first"
    )

explain_import_errors()
