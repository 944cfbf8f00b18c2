// Draws what the server sends; the rules of the game are on the server only.
"use strict";

const $ = (id) => document.getElementById(id);
const COLORS = ["black", "white"];
const DISC = { X: "black", O: "white" };
const AGENT_PAUSE_MS = 700; // between the moves of two agents, to follow the game
const POLL_MS = 1000;

let game = null; // the state that the server sent last
let players = []; // the players that the server offers
let editing = null; // the squares of the position editor, or null
let hints = new Map(); // values of the legal moves by square
let focused = 0; // index of the square in the tab order
let paused = false;
let busy = false; // a request that changes the game is on its way
let generation = 0; // increases with every game shown, to drop answers for an earlier one

// --- Server ---

async function request(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const answer = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (!response.ok && response.status !== 409) {
    const error = new Error(answer.error || `status ${response.status}`);
    error.status = response.status;
    throw error;
  }
  return answer;
}

const isWatched = () => COLORS.every((color) => game.players[color].key !== "person");
const gamePath = (action = "") => `/api/games/${encodeURIComponent(game.id)}${action}`;

/** Run a request that changes the game, one at a time, and show the answer. */
async function change(action, body = {}) {
  if (busy || !game) return;
  const shown = generation;
  busy = true;
  showError("");
  try {
    const answer = await request(gamePath(action), { revision: game.revision, ...body });
    if (shown === generation) show(answer);
  } catch (error) {
    if (shown === generation) await report(error);
  } finally {
    busy = false;
  }
  runAgents();
}

async function report(error) {
  if (error.status === 404 && game) await restore(game.id);
  else showError(error.message);
}

/** Let the agent to move play, and the next one, until a person is to move. */
async function runAgents() {
  if (!game || !game.agent_to_move || paused || editing || runAgents.running === generation) return;
  const shown = generation;
  runAgents.running = shown;
  try {
    while (shown === generation && game.agent_to_move && !paused && !editing) {
      const started = Date.now();
      const revision = game.revision;
      const answer = await request(gamePath("/agent-move"), { revision });
      const rest = (isWatched() ? AGENT_PAUSE_MS : 350) - (Date.now() - started);
      if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
      if (shown === generation && game.revision === revision) show(answer);
    }
  } catch (error) {
    if (shown === generation) {
      paused = true;
      draw();
      await report(error);
    }
  } finally {
    if (runAgents.running === shown) runAgents.running = null;
  }
  // The game may have changed while the loop ended.
  if (shown === generation && game.agent_to_move && !paused && !editing) runAgents();
}

async function create(body) {
  showError("");
  const answer = await request("/api/games", body);
  openGame(answer);
  if (answer.more_games) showError("The text holds more games; the first one is shown.");
  return answer;
}

/** Show another game. */
function openGame(answer) {
  generation += 1;
  showError("");
  paused = false;
  editing = null;
  game = null;
  if (location.hash.slice(1) !== answer.id) location.hash = answer.id;
  show(answer);
  runAgents();
}

/** Show the game in the address, or begin one. */
async function openFromAddress() {
  const id = location.hash.slice(1);
  if (game && game.id === id) return;
  if (!id) {
    await create({ board_size: 8, black: "person", white: "easy" });
    return;
  }
  try {
    openGame(await request(`/api/games/${encodeURIComponent(id)}`));
  } catch (error) {
    if (error.status === 404) await restore(id);
    else throw error;
  }
}

/** Continue a game that the server has forgotten, from the copy that this tab keeps. */
async function restore(id) {
  const copy = JSON.parse(sessionStorage.getItem(`othello ${id}`) || "null");
  if (copy) {
    await create(copy);
    return;
  }
  await create({ board_size: 8, black: "person", white: "easy" });
  showError("The server does not know this game any more; this is a new one.");
}

function keep() {
  const text = game.start_is_standard && game.board_size === 8 && game.transcript ? game.transcript : `${game.start};${game.transcript}`;
  const copy = { board_size: game.board_size, black: game.players.black.key, white: game.players.white.key, text };
  try {
    sessionStorage.setItem(`othello ${game.id}`, JSON.stringify(copy));
  } catch {
    // Without storage only the server keeps the game.
  }
}

// --- Drawing ---

function show(next) {
  const before = game;
  game = next;
  hints = new Map();
  if (!before || before.id !== next.id || before.board_size !== next.board_size) buildBoard();
  const advanced = before && before.id === next.id && next.turns.length === before.turns.length + 1;
  draw(advanced ? next.turns.at(-1) : null);
  keep();
  announce(before);
}

function announce(before) {
  const words = [];
  const same = before && before.id === game.id;
  if (!same) words.push(`${game.board_size} by ${game.board_size} board.`, game.message);
  else if (game.turns.length > before.turns.length) words.push(game.message);
  else if (game.turns.length < before.turns.length) words.push(`${before.turns.length - game.turns.length} moves taken back.`);
  words.push(statusText());
  $("live").textContent = words.filter(Boolean).join(" ");
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function statusText() {
  if (editing) return "Editing a position";
  if (game.result) return game.result.text;
  const side = capital(game.side_to_move);
  const last = game.turns.at(-1);
  const passed = last ? last.passes : game.message.endsWith("must pass");
  const other = game.side_to_move === "black" ? "White" : "Black";
  const pass = passed ? `${other} must pass. ` : "";
  if (!game.agent_to_move) return `${pass}${side} to move`;
  const name = game.players[game.side_to_move].name;
  return `${pass}${side} (${name}) ${paused ? "waits" : "is thinking…"}`;
}

function buildBoard(size = game.board_size) {
  const board = $("board");
  board.style.setProperty("--size", size);
  board.replaceChildren(
    ...game.names.map((name, index) => {
      const square = document.createElement("button");
      square.type = "button";
      square.className = "square";
      square.dataset.square = name;
      square.addEventListener("click", () => choose(index));
      square.addEventListener("focus", () => setFocused(index));
      return square;
    }),
  );
  const labels = (texts) => texts.map((text) => Object.assign(document.createElement("span"), { textContent: text }));
  $("columns").replaceChildren(...labels(game.names.slice(0, size).map((name) => name[0])));
  $("rows").replaceChildren(...labels(game.names.filter((_, index) => index % size === 0).map((name) => name.slice(1))));
  setFocused(Math.min(focused, game.names.length - 1));
}

function draw(turn = null) {
  const squares = editing || [...game.squares];
  const legal = new Set(editing || game.agent_to_move ? [] : game.legal);
  const last = editing ? null : game.turns.at(-1)?.square;
  const flipped = new Set(turn ? turn.flipped : []);
  const best = [...hints.values()][0]?.value;
  [...$("board").children].forEach((square, index) => {
    const name = game.names[index];
    const color = DISC[squares[index]];
    const hint = hints.get(name);
    square.className = "square";
    square.classList.toggle("legal", legal.has(name));
    square.classList.toggle("last", name === last);
    square.classList.toggle("rated", Boolean(hint));
    square.classList.toggle("best", Boolean(hint) && hint.value === best);
    square.setAttribute("aria-disabled", String(!editing && !legal.has(name)));
    const words = [name, color || "empty"];
    if (legal.has(name)) words.push("legal");
    if (name === last) words.push("last move");
    if (hint) words.push(hintWords(hint));
    square.setAttribute("aria-label", words.join(", "));
    const content = [];
    if (color) {
      const disc = document.createElement("span");
      disc.className = `disc ${color}`;
      if (turn && name === turn.square) disc.classList.add("placed");
      if (flipped.has(name)) disc.classList.add(`flip-${color}`);
      content.push(disc);
    } else if (hint) {
      content.push(Object.assign(document.createElement("span"), { className: "value", textContent: hint.value }));
    }
    square.replaceChildren(...content);
  });
  drawPlayers(squares);
  drawMoves();
  $("status").textContent = statusText();
  document.body.classList.toggle("editing", Boolean(editing));
  $("editor").hidden = !editing;
  $("game-buttons").hidden = Boolean(editing);
  $("edit").disabled = Boolean(editing);
  $("undo").disabled = !game.can_undo;
  $("redo").disabled = !game.can_redo;
  $("resign").disabled = !game.can_resign;
  $("hint").disabled = Boolean(game.result) || game.agent_to_move;
  const stopped = game.agent_to_move && paused;
  $("pause").hidden = !isWatched() && !stopped;
  $("pause").disabled = Boolean(game.result);
  $("pause").textContent = paused ? "Continue" : "Pause";
}

const hintWords = (hint) => (hint.exact ? `final score ${hint.value}` : `value ${hint.value}`);

function drawPlayers(squares) {
  for (const color of COLORS) {
    const card = $(`player-${color}`);
    card.querySelector(".name").textContent = game.players[color].name;
    card.querySelector(".name").title = game.players[color].name;
    const count = editing ? squares.filter((sign) => DISC[sign] === color).length : game.discs[color];
    card.querySelector(".count").textContent = count;
    card.querySelector(".count").setAttribute("aria-label", `${count} discs`);
    const moves = !editing && game.side_to_move === color;
    card.classList.toggle("to-move", moves);
    if (moves) card.setAttribute("aria-current", "true");
    else card.removeAttribute("aria-current");
  }
}

function drawMoves() {
  $("started").hidden = game.start_is_standard;
  $("started").textContent = `From ${game.start}`;
  const items = game.turns.map((turn, index) => {
    const item = document.createElement("li");
    item.append(Object.assign(document.createElement("span"), { className: "number", textContent: `${index + 1}. ` }), turn.square);
    if (turn.passes) item.append(", pass");
    if (index === game.turns.length - 1) item.className = "current";
    return item;
  });
  if (!items.length) items.push(Object.assign(document.createElement("li"), { className: "none", textContent: "No moves yet" }));
  $("moves").replaceChildren(...items);
  $("moves").scrollTop = $("moves").scrollHeight;
}

function showError(text) {
  $("error").textContent = text;
  if (text) $("error").scrollIntoView({ block: "nearest" });
}

// --- Board input ---

function choose(index) {
  const name = game.names[index];
  if (editing) {
    editing[index] = { "-": "X", X: "O", O: "-" }[editing[index]];
    draw();
    $("live").textContent = `${name}, ${DISC[editing[index]] || "empty"}`;
  } else if (game.agent_to_move) {
    $("live").textContent = statusText();
  } else if (game.legal.includes(name)) {
    change("/play", { square: name });
  } else if (!game.result) {
    $("live").textContent = `${name} is not a legal move.`;
  }
}

function setFocused(index) {
  focused = index;
  [...$("board").children].forEach((square, place) => (square.tabIndex = place === index ? 0 : -1));
}

function moveFocus(event) {
  const size = game.board_size;
  const row = Math.floor(focused / size);
  const column = focused % size;
  const [toRow, toColumn] = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [row, 0],
    End: [row, size - 1],
  }[event.key] || [-1, -1];
  if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
  event.preventDefault();
  if (toRow >= 0 && toRow < size && toColumn >= 0 && toColumn < size) $("board").children[toRow * size + toColumn].focus();
}

// --- Controls ---

async function showHint() {
  const shown = generation;
  showError("");
  $("status").textContent = "Rating the moves…";
  try {
    const answer = await request(gamePath("/hint"), { revision: game.revision });
    if (shown !== generation || answer.revision !== game.revision) return;
    if (!answer.values) {
      show(answer);
      return;
    }
    hints = new Map(answer.values.map((hint) => [hint.square, hint]));
    draw();
    $("live").textContent = `Best first: ${answer.values.map((hint) => `${hint.square}, ${hintWords(hint)}`).join("; ")}`;
  } catch (error) {
    if (shown === generation) {
      draw();
      await report(error);
    }
  }
}

function fillPlayers() {
  const size = Number($("new-size").value);
  for (const color of COLORS) {
    const select = $(`new-${color}`);
    const before = select.value || game?.players[color].key || "person";
    const offered = players.filter((player) => player.board_sizes.includes(size));
    select.replaceChildren(...offered.map((player) => new Option(player.title, player.key)));
    select.value = offered.some((player) => player.key === before) ? before : "person";
  }
}

function openNewDialog() {
  if (game) $("new-size").value = String(game.board_size);
  for (const color of COLORS) $(`new-${color}`).replaceChildren();
  fillPlayers();
  $("new-dialog").showModal();
}

async function withError(action) {
  try {
    await action();
  } catch (error) {
    showError(error.message);
  }
}

const samePlayers = () => ({ board_size: game.board_size, black: game.players.black.key, white: game.players.white.key });

async function recordText() {
  const response = await fetch(gamePath(`/record?format=${$("format").value}`));
  if (!response.ok) throw new Error((await response.json()).error);
  return response.text();
}

async function copyRecord() {
  const text = (await recordText()).trim();
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
  } else {
    // Pages over plain HTTP from another machine have no clipboard interface.
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  $("copy").textContent = "Copied";
  $("live").textContent = "Copied";
  setTimeout(() => ($("copy").textContent = "Copy"), 1500);
}

function saveRecord() {
  const link = document.createElement("a");
  link.href = gamePath(`/record?format=${$("format").value}`);
  link.download = "";
  link.click();
}

function startEditing() {
  if (editing || !game) return;
  editing = [...game.squares];
  hints = new Map();
  showError("");
  const side = game.side_to_move === "white" ? "O" : "X";
  document.querySelector(`input[name=side][value=${side}]`).checked = true;
  draw();
  $("board").children[focused].focus(); // also scrolls to the board, on small screens
  $("live").textContent = "Editing a position. Enter changes a square: empty, black, white.";
}

function stopEditing() {
  if (!editing) return;
  editing = null;
  draw();
  $("edit").focus();
  runAgents();
}

async function editorStart() {
  // The server knows the start position: take it from a game that is thrown away.
  const answer = await request("/api/games", { board_size: game.board_size, black: "person", white: "person" });
  editing = [...answer.squares];
  document.querySelector("input[name=side][value=X]").checked = true;
  draw();
}

async function playFromEditor() {
  const side = document.querySelector("input[name=side]:checked").value;
  await create({ ...samePlayers(), position: `${editing.join("")} ${side}` });
}

async function followPreparation() {
  for (;;) {
    const status = await request("/api/status");
    players = status.players;
    const failed = status.failures.length ? ` Failed: ${status.failures.join("; ")}.` : "";
    $("preparing").hidden = status.ready && !failed;
    $("preparing").textContent = status.ready
      ? failed
      : `Preparing the agents (${status.done} of ${status.total}: ${status.preparing}). You can play; their first moves may take longer.${failed}`;
    if (status.ready) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function connect() {
  $("board").addEventListener("keydown", moveFocus);
  $("new").addEventListener("click", openNewDialog);
  $("new-size").addEventListener("change", fillPlayers);
  $("new-cancel").addEventListener("click", () => $("new-dialog").close());
  $("new-form").addEventListener("submit", () =>
    withError(async () => {
      await create({ board_size: Number($("new-size").value), black: $("new-black").value, white: $("new-white").value });
      $("board").children[focused].focus({ preventScroll: true });
    }),
  );
  for (const action of ["undo", "redo"]) {
    $(action).addEventListener("click", () => {
      paused = paused || isWatched();
      change(`/${action}`);
    });
  }
  $("resign").addEventListener("click", () => change("/resign"));
  $("hint").addEventListener("click", showHint);
  $("pause").addEventListener("click", () => {
    paused = !paused;
    showError("");
    draw();
    runAgents();
  });
  $("show-legal").addEventListener("change", () => document.body.classList.toggle("show-legal", $("show-legal").checked));
  $("copy").addEventListener("click", () => withError(copyRecord));
  $("save").addEventListener("click", saveRecord);
  $("load-form").addEventListener("submit", (event) => {
    event.preventDefault();
    withError(async () => {
      await create({ ...samePlayers(), text: $("text").value });
      $("status").scrollIntoView({ block: "nearest" });
    });
  });
  $("file").addEventListener("change", async () => {
    const file = $("file").files[0];
    if (file) $("text").value = (await file.text()).slice(0, 20000);
  });
  $("edit").addEventListener("click", startEditing);
  $("edit-clear").addEventListener("click", () => {
    editing.fill("-");
    draw();
  });
  $("edit-start").addEventListener("click", () => withError(editorStart));
  $("edit-cancel").addEventListener("click", stopEditing);
  $("edit-play").addEventListener("click", () => withError(playFromEditor));
  addEventListener("hashchange", () => withError(openFromAddress));
  // Another tab may have played in the same game.
  document.addEventListener("visibilitychange", async () => {
    if (document.hidden || !game || editing || busy) return;
    const shown = generation;
    const answer = await request(gamePath()).catch(() => null);
    if (answer && shown === generation && answer.revision > game.revision) {
      show(answer);
      runAgents();
    }
  });
}

document.body.classList.toggle("show-legal", $("show-legal").checked);
connect();
withError(() => Promise.all([followPreparation(), openFromAddress()]));
