"""Games and positions as files and texts that other programs read and write.

`read_records` and `write_records` take any file; the modules have the formats.
`python -m othello_env.records` converts and checks.
"""

from othello_env.records.record import GameRecord, Place
from othello_env.records.registry import FORMATS, format_of, read_records, write_records
from othello_env.records.result import RecordedResult

__all__ = ["FORMATS", "GameRecord", "Place", "RecordedResult", "format_of", "read_records", "write_records"]
