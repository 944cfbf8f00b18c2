"use strict";

// The positions of a game. Nothing here knows the rules: flips and legal moves come with the game, see encode_plies in replay.py.
const EMPTY = 0, BLACK = 1, WHITE = 2;
const SYMBOLS = "-XO";
const NEXT_PLAYER = { ":": BLACK, ";": WHITE, ".": 0 };

// Returns the positions before each move and after the last one: {size, squares, next, legal, square, player, passed}.
// squares: EMPTY, BLACK or WHITE from a1 row by row; next: the side to move, 0 when the game is over; legal: its squares;
// square, player: the move that led here, -1 and 0 at the start; passed: the side that had to pass before `next`, or 0.
function readPositions(opening, plies, letters) {
  const [discs, side] = opening.split(" ");
  const size = Math.sqrt(discs.length);
  let squares = Array.from(discs, symbol => SYMBOLS.indexOf(symbol)), toMove = SYMBOLS.indexOf(side);
  return plies.split(" ").map((word, number) => {
    const [, changed, sign, legal] = word.match(/^([^:;.]*)([:;.])(.*)$/);
    const places = Array.from(changed, letter => letters.indexOf(letter));
    const player = number ? toMove : 0, next = NEXT_PLAYER[sign], expected = number ? BLACK + WHITE - player : toMove;
    squares = squares.slice();
    for (const square of places) squares[square] = player;
    toMove = next;
    return {
      size, squares, next, legal: Array.from(legal, letter => letters.indexOf(letter)),
      square: number ? places[0] : -1, player, passed: next && next !== expected ? expected : 0,
    };
  });
}

function squareName(square, size) {
  return String.fromCharCode(97 + square % size) + (Math.floor(square / size) + 1);
}
