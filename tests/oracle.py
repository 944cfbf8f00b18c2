"""An independent, slow statement of the rules: lists, coordinates and loops, nothing shared with the package.

A board is a list of rows of "X" (black), "O" (white) and "-".
"""

from __future__ import annotations

Board = list[list[str]]

DIRECTIONS = [(dr, dc) for dr in (-1, 0, 1) for dc in (-1, 0, 1) if (dr, dc) != (0, 0)]


def start_board(n: int) -> Board:
    board = [["-"] * n for _ in range(n)]
    low, high = n // 2 - 1, n // 2
    board[low][low] = board[high][high] = "O"
    board[low][high] = board[high][low] = "X"
    return board


def other(sign: str) -> str:
    return "O" if sign == "X" else "X"


def flipped(board: Board, sign: str, square: int) -> set[int]:
    """The squares whose discs turn when `sign` plays on `square`; empty for an illegal move."""
    n = len(board)
    row, column = divmod(square, n)
    if board[row][column] != "-":
        return set()
    turned: set[int] = set()
    for dr, dc in DIRECTIONS:
        run = []
        r, c = row + dr, column + dc
        while 0 <= r < n and 0 <= c < n and board[r][c] == other(sign):
            run.append(r * n + c)
            r, c = r + dr, c + dc
        if run and 0 <= r < n and 0 <= c < n and board[r][c] == sign:
            turned.update(run)
    return turned


def legal_squares(board: Board, sign: str) -> list[int]:
    return [square for square in range(len(board) ** 2) if flipped(board, sign, square)]


def play(board: Board, sign: str, square: int) -> Board:
    turned = flipped(board, sign, square)
    assert turned
    n = len(board)
    return [[sign if r * n + c in turned or r * n + c == square else board[r][c] for c in range(n)] for r in range(n)]


def next_side(board: Board, mover: str) -> str:
    """Who is to move after `mover` moved, passes made; the other side where the game is over."""
    if not legal_squares(board, other(mover)) and legal_squares(board, mover):
        return mover
    return other(mover)


def is_over(board: Board) -> bool:
    return not legal_squares(board, "X") and not legal_squares(board, "O")


def count(board: Board, sign: str) -> int:
    return sum(row.count(sign) for row in board)


def text(board: Board, sign: str) -> str:
    return "".join("".join(row) for row in board) + " " + sign
