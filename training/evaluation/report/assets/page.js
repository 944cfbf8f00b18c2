"use strict";

// Games on a board. The page holds {letters, players, openings, games}. A game names its players and its opening by their places there.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = id => document.getElementById(id);
  const COLORS = ["", "Black", "White"];
  const SVG = "http://www.w3.org/2000/svg";
  const CELL = 50, MARGIN = 24;
  let game = null, positions = [], ply = 0, timer = 0;

  function countDiscs(position, color) {
    return position.squares.filter(disc => disc === color).length;
  }

  function create(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  function drawBoard(position) {
    const board = element("board"), n = position.size, inner = n * CELL, width = inner + 2 * MARGIN;
    const center = at => MARGIN + at * CELL + CELL / 2;
    board.replaceChildren();
    board.setAttribute("viewBox", `0 0 ${width} ${width}`);
    create(board, "rect", { width, height: width, rx: 8, class: "frame" });
    create(board, "rect", { x: MARGIN, y: MARGIN, width: inner, height: inner, class: "felt" });
    for (let line = 0; line <= n; line++) {
      const at = MARGIN + line * CELL;
      create(board, "path", { d: `M${MARGIN} ${at}h${inner}M${at} ${MARGIN}v${inner}`, class: "line" });
    }
    for (let line = 0; line < n; line++) {
      create(board, "text", { x: center(line), y: MARGIN / 2 }, String.fromCharCode(97 + line));
      create(board, "text", { x: MARGIN / 2, y: center(line) }, line + 1);
    }
    position.squares.forEach((disc, square) => {
      const cx = center(square % n), cy = center(Math.floor(square / n));
      if (disc !== EMPTY) create(board, "circle", { cx, cy, r: 21, class: disc === BLACK ? "black" : "white", "data-square": square });
      else if (position.legal.includes(square)) create(board, "circle", { cx, cy, r: 5, class: position.next === BLACK ? "black hint" : "white hint" });
      if (square === position.square) create(board, "circle", { cx, cy, r: 5, class: "last" });
    });
  }

  function result(one) {
    return one.detail ? `${one.result} (${one.detail})` : one.result;
  }

  function show(to) {
    ply = Math.max(0, Math.min(to, positions.length - 1));
    const position = positions[ply], atEnd = ply === positions.length - 1;
    drawBoard(position);
    const black = countDiscs(position, BLACK), white = countDiscs(position, WHITE);
    const parts = [ply ? `Move ${ply} of ${positions.length - 1}: ${COLORS[position.player]} ${squareName(position.square, position.size)}.`
      : `Opening, before move 1 of ${positions.length - 1}.`];
    if (position.passed) parts.push(`${COLORS[position.passed]} passes.`);
    if (position.next) parts.push(`${COLORS[position.next]} to move.`);
    if (atEnd) parts.push(`${result(game)}.`);
    element("status").textContent = parts.join(" ");
    element("black-name").textContent = data.players[game.black];
    element("white-name").textContent = data.players[game.white];
    element("black-discs").textContent = black;
    element("white-discs").textContent = white;
    element("black-player").classList.toggle("to-move", position.next === BLACK);
    element("white-player").classList.toggle("to-move", position.next === WHITE);
    element("board").setAttribute("aria-label", `Board: Black ${black} discs, White ${white} discs`);
    const list = element("moves");
    list.querySelectorAll("[aria-current]").forEach(button => button.removeAttribute("aria-current"));
    const current = list.querySelector(`[data-ply="${ply}"]`);
    if (current) {
      current.setAttribute("aria-current", "step");
      const top = current.offsetTop - list.offsetTop;
      if (top < list.scrollTop || top + current.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
    }
    for (const [id, off] of [["first", ply === 0], ["previous", ply === 0], ["next", atEnd], ["last", atEnd]]) {
      element(id).setAttribute("aria-disabled", off);
    }
    if (atEnd) stop();
  }

  function listMoves() {
    const list = element("moves");
    list.replaceChildren();
    positions.forEach(({ player, square, size, passed }, number) => {
      if (!number) return;
      const item = document.createElement("li"), button = document.createElement("button"), name = squareName(square, size);
      button.type = "button";
      button.dataset.ply = number;
      const disc = document.createElement("span");
      disc.className = player === BLACK ? "disc black-disc" : "disc white-disc";
      button.append(`${number}. `, disc, ` ${name}`);
      button.setAttribute("aria-label", `Move ${number}, ${COLORS[player]} ${name}`);
      item.append(button);
      if (passed) item.append(` ${COLORS[passed]} passes`);
      list.append(item);
    });
  }

  function load(one, at) {
    stop();
    game = one;
    positions = readPositions(data.openings[one.opening], one.plies, data.letters);
    listMoves();
    element("facts").textContent = `Game ${one.game}, ended ${one.ended}: ${result(one)}.${one.prefix ? ` Opening: ${one.prefix}.` : ""}`;
    show(at);
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    element("play").textContent = "Play";
  }

  function togglePlay() {
    if (timer) return stop();
    if (ply === positions.length - 1) show(0);
    element("play").textContent = "Pause";
    timer = setInterval(() => show(ply + 1), 700);
    return undefined;
  }

  // Whether the filters let a game through. A result is that of the chosen player, or of Black where any player will do.
  function passes(one) {
    const player = element("player").value, opponent = element("opponent").value, wanted = element("result").value;
    const colors = [String(one.black), String(one.white)];
    const places = [0, 1].filter(place => (player === "" || colors[place] === player) && (opponent === "" || colors[1 - place] === opponent));
    const fitting = player === "" ? places.slice(0, 1) : places;
    if (!fitting.length) return false;
    if (wanted === "") return true;
    if (wanted === "fault") return one.fault;
    return fitting.some(place => ({ win: 1, draw: 0.5, loss: 0 })[wanted] === (place === 0 || player === "" ? one.score : 1 - one.score));
  }

  function filter() {
    const games = element("game"), chosen = data.games.filter(passes);
    games.replaceChildren(...chosen.map(one => {
      const option = document.createElement("option");
      option.value = one.game;
      option.textContent = `${one.game}: ${data.players[one.black]} – ${data.players[one.white]}, ${one.result}`;
      return option;
    }));
    element("found").textContent = chosen.length ? `${chosen.length} of ${data.games.length}` : "No game fits";
    const isChosen = element("player").value !== "";
    for (const option of element("result").options) if (option.dataset.any) option.textContent = isChosen ? option.dataset.chosen : option.dataset.any;
    if (game && chosen.includes(game)) games.value = game.game;
    else if (chosen.length) load(chosen[0], 0);
  }

  function followAddress() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const one = data.games.find(any => String(any.game) === wanted.get("game"));
    if (!one) return;
    for (const id of ["player", "opponent", "result"]) element(id).value = "";
    filter();
    element("game").value = one.game;
    load(one, wanted.has("ply") ? Number(wanted.get("ply")) || 0 : 0);
    element("replay").scrollIntoView();
  }

  data.players.forEach((name, place) => {
    for (const id of ["player", "opponent"]) {
      const option = document.createElement("option");
      option.value = place;
      option.textContent = name;
      element(id).append(option);
    }
  });
  for (const id of ["player", "opponent", "result"]) element(id).addEventListener("change", filter);
  element("game").addEventListener("change", () => load(data.games.find(one => String(one.game) === element("game").value), 0));
  const steps = { first: () => show(0), previous: () => show(ply - 1), next: () => show(ply + 1), last: () => show(positions.length - 1) };
  for (const [id, step] of Object.entries(steps)) {
    element(id).addEventListener("click", () => {
      stop();
      step();
    });
  }
  element("play").addEventListener("click", togglePlay);
  element("moves").addEventListener("click", event => {
    const button = event.target.closest("[data-ply]");
    if (!button) return;
    stop();
    show(Number(button.dataset.ply));
  });
  // The arrow keys belong to the board while the focus is in it, but not while it is in a list of games.
  const keys = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last" };
  element("replay").addEventListener("keydown", event => {
    if (!keys[event.key] || event.target.tagName === "SELECT" || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    stop();
    steps[keys[event.key]]();
  });
  addEventListener("hashchange", followAddress);
  filter();
  followAddress();
})();
