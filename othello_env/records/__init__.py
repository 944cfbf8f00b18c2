"""Games and positions in the file formats that other programs read and write.

`read_records` and `write_records` take a file of any format; each format has a module.
`python -m othello_env.records` converts, describes and checks files.
"""

from othello_env.records.record import GameRecord, Place
from othello_env.records.registry import FORMATS, format_of, format_of_text, parse_records, read_records, write_records
from othello_env.records.result import RecordedResult

__all__ = [
    "FORMATS",
    "GameRecord",
    "Place",
    "RecordedResult",
    "format_of",
    "format_of_text",
    "parse_records",
    "read_records",
    "write_records",
]
