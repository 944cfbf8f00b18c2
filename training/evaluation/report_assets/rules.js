"use strict";

// The rules of Othello. A position is {size, squares, side, passed, square}: squares hold EMPTY, BLACK or WHITE from a1 row by row,
// side moves next, passed says whether the other side had to pass before, square is the disc that was placed last (-1 for none).
const EMPTY = 0, BLACK = 1, WHITE = 2;
const SIGNS = "-XO";

function parsePosition(text) {
  const [discs, side] = text.split(" ");
  const squares = Array.from(discs, sign => SIGNS.indexOf(sign));
  return afterPasses({ size: Math.sqrt(squares.length), squares, side: SIGNS.indexOf(side), passed: false, square: -1 });
}

function parseMoves(text, size) {
  const squares = [];
  for (let at = 0; at < text.length; at += 2) squares.push(text.charCodeAt(at) - 97 + (Number(text[at + 1]) - 1) * size);
  return squares;
}

function squareName(square, size) {
  return String.fromCharCode(97 + square % size) + (Math.floor(square / size) + 1);
}

// The discs that change sides when the side to move plays a square; none where that is not legal.
function flips({ size, squares, side }, square) {
  const flipped = [];
  if (squares[square] !== EMPTY) return flipped;
  for (let down = -1; down <= 1; down++) {
    for (let right = -1; right <= 1; right++) {
      if (!down && !right) continue;
      const line = [];
      let row = Math.floor(square / size) + down, column = square % size + right;
      const inside = () => row >= 0 && row < size && column >= 0 && column < size;
      while (inside() && squares[row * size + column] === 3 - side) {
        line.push(row * size + column);
        row += down;
        column += right;
      }
      if (inside() && squares[row * size + column] === side) flipped.push(...line);
    }
  }
  return flipped;
}

function legalSquares(position) {
  return [...position.squares.keys()].filter(square => flips(position, square).length > 0);
}

// The same position, with the other side to move where only that one can.
function afterPasses(position) {
  if (legalSquares(position).length > 0) return position;
  const other = { ...position, side: 3 - position.side, passed: true };
  return legalSquares(other).length > 0 ? other : position;
}

function play(position, square) {
  const flipped = flips(position, square);
  if (!flipped.length) throw new Error(`${squareName(square, position.size)} is not legal`);
  const squares = position.squares.slice();
  for (const changed of [square, ...flipped]) squares[changed] = position.side;
  return afterPasses({ size: position.size, squares, side: 3 - position.side, passed: false, square });
}

function isOver(position) {
  return legalSquares(position).length === 0;
}

function count(position, color) {
  return position.squares.filter(disc => disc === color).length;
}

// The positions of a game: before each move, and after the last one.
function replay(opening, moves) {
  const positions = [parsePosition(opening)];
  for (const square of parseMoves(moves, positions[0].size)) positions.push(play(positions[positions.length - 1], square));
  return positions;
}
