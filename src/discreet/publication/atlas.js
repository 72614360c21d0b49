"use strict";
// An atlas: draws what stands in the page and nothing else. Figures come as they are printed,
// each with its class; a hidden one has a sign, and no number anywhere.
(() => {
  const data = JSON.parse(document.getElementById("atlas-data").textContent);
  const words = data.words;
  const find = (id) => document.getElementById(id);
  const canvas = find("map"), ink = canvas.getContext("2d");
  const said = find("said"), keys = find("keys"), body = find("rows"), search = find("search");
  const ZERO = -1, HIDDEN = -2, NONE = -3;
  const state = { table: 0, level: 0, codes: [], chosen: -1, under: -1, zoom: 1, x: 0, y: 0 };

  const make = (name, text, parent, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    if (parent) parent.append(made);
    return made;
  };
  const table = () => data.tables[state.table];
  const level = () => table().levels[state.level];
  const shape = () => data.shapes[level().shape];
  const column = () => {
    let at = 0;
    table().variables.forEach((each, k) => { at = at * each.codes.length + state.codes[k]; });
    return level().columns[at];
  };
  const figure = (area) => table().figures[column().areas[area]];
  const classOf = (area) => figure(area)[1];
  const nameOf = (own, area) => own.labels ? own.labels[area] : own.prefix + own.codes[area];

  // -- patterns and paths ---------------------------------------------------------------------

  const tile = (side, paint) => {
    const small = document.createElement("canvas");
    small.width = small.height = side;
    paint(small.getContext("2d"), side);
    return small;
  };
  const tiles = {
    [HIDDEN]: tile(8, (to, side) => {
      to.fillStyle = data.blank; to.fillRect(0, 0, side, side);
      to.strokeStyle = "#6b7783"; to.lineWidth = 1.8;
      for (const shift of [-side, 0, side]) {
        to.beginPath(); to.moveTo(shift - 1, side + 1); to.lineTo(shift + side + 1, -1); to.stroke();
      }
    }),
    [NONE]: tile(7, (to, side) => {
      to.fillStyle = data.blank; to.fillRect(0, 0, side, side);
      to.fillStyle = "#6b7783"; to.fillRect(3, 3, 2, 2);
    }),
    limited: tile(8, (to) => {
      to.beginPath(); to.arc(4, 4, 1.8, 0, 7); to.fillStyle = "#1a2530"; to.fill();
      to.strokeStyle = "#ffffff"; to.lineWidth = 0.9; to.stroke();
    }),
  };
  const fillOf = (to, kind, scale) => {
    if (kind >= 0 && column().symbols) return data.blank;
    if (kind >= 0) return data.colours[column().texts.length][kind];
    if (kind === ZERO) return data.blank;
    return patternOf(to, kind, scale);
  };
  const patternOf = (to, kind, scale) => {
    const made = to.createPattern(tiles[kind], "repeat");
    made.setTransform(new DOMMatrix().scale(1 / scale));
    return made;
  };
  const prepared = (own) => {
    if (!own.drawn) {
      own.drawn = own.paths.map((text) => new Path2D(text));
      own.boxes = own.paths.map(boxOf);
      own.outer = own.borders ? new Path2D(own.borders) : null;
    }
    return own;
  };
  const boxOf = (text) => {  // west, north, east, south of a path of steps
    let x = 0, y = 0, box = [Infinity, Infinity, -Infinity, -Infinity];
    const seen = () => {
      box = [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y)];
    };
    for (const part of text.split("M").slice(1)) {
      const numbers = part.match(/-?\d+/g).map(Number);
      [x, y] = numbers; seen();
      if (part.includes("h")) { x += 1; y += 1; seen(); continue; }
      for (let k = 2; k < numbers.length; k += 2) { x += numbers[k]; y += numbers[k + 1]; seen(); }
    }
    return text ? box : null;
  };

  // -- drawing --------------------------------------------------------------------------------

  // The size of a symbol in pixels: its area grows with the class.
  const radiusOf = (kind, classes, largest) => largest * Math.sqrt((kind + 1) / classes);
  const disc = (to, x, y, radius, line) => {
    to.beginPath(); to.arc(x, y, radius, 0, 7);
    to.fillStyle = "#2f86a6"; to.fill();
    to.strokeStyle = "#ffffff"; to.lineWidth = line; to.stroke();
  };
  const largestSymbol = (own, scale) => {
    const places = Math.max(1, own.paths.filter((path) => path).length);
    return Math.max(4, Math.min(22, Math.sqrt(own.width * own.height / places) * scale));
  };
  const scaleBar = (own, scale, fine) => {  // scale: pixels of a unit
    const most = 120 / scale * own.metres, power = 10 ** Math.floor(Math.log10(most));
    const metres = [5, 2, 1].map((k) => k * power).find((length) => length <= most);
    const long = metres / own.metres * scale, low = canvas.clientHeight - 10;
    ink.setTransform(fine, 0, 0, fine, 0, 0);
    ink.strokeStyle = "#1a2530"; ink.lineWidth = 1.5;
    ink.beginPath();
    ink.moveTo(12, low - 5); ink.lineTo(12, low); ink.lineTo(12 + long, low); ink.lineTo(12 + long, low - 5);
    ink.stroke();
    ink.fillStyle = "#1a2530"; ink.font = "12px system-ui, sans-serif";
    ink.fillText(metres >= 1000 ? `${metres / 1000} km` : `${metres} m`, 20 + long, low);
  };

  const fitted = () => {
    const own = shape(), edge = 12;
    return Math.min((canvas.clientWidth - 2 * edge) / own.width, (canvas.clientHeight - 2 * edge) / own.height);
  };
  const scaleNow = () => fitted() * state.zoom;
  const place = () => {
    const own = shape(), scale = scaleNow();
    return {
      scale,
      x: canvas.clientWidth / 2 - (own.width / 2 + state.x) * scale,
      y: canvas.clientHeight / 2 - (own.height / 2 + state.y) * scale,
    };
  };
  let waiting = false;
  const redraw = () => {
    if (!waiting) { waiting = true; requestAnimationFrame(draw); }
  };
  const draw = () => {
    waiting = false;
    const fine = window.devicePixelRatio || 1, own = prepared(shape());
    canvas.width = Math.round(canvas.clientWidth * fine);
    canvas.height = Math.round(canvas.clientHeight * fine);
    const at = place(), scale = at.scale * fine;
    ink.fillStyle = "#ffffff"; ink.fillRect(0, 0, canvas.width, canvas.height);
    ink.setTransform(scale, 0, 0, scale, at.x * fine, at.y * fine);
    const seen = own.boxes.map((box, k) => [box, k]).filter(([box]) => box
      && box[2] * at.scale + at.x > 0 && box[0] * at.scale + at.x < canvas.clientWidth
      && box[3] * at.scale + at.y > 0 && box[1] * at.scale + at.y < canvas.clientHeight);
    const groups = new Map();
    for (const [, k] of seen) {
      const kind = classOf(k);
      if (!groups.has(kind)) groups.set(kind, []);
      groups.get(kind).push(k);
    }
    for (const [kind, areas] of groups) {
      ink.fillStyle = fillOf(ink, kind, scale / fine);
      for (const k of areas) ink.fill(own.drawn[k], "evenodd");
    }
    ink.fillStyle = patternOf(ink, "limited", scale / fine);
    for (const [, k] of seen) if (figure(k)[2]) ink.fill(own.drawn[k], "evenodd");
    const middle = seen.length ? seen[seen.length >> 1][0] : [0, 0, 0, 0];
    if ((middle[2] - middle[0]) * at.scale > 5) {
      ink.strokeStyle = "#5b6b78"; ink.lineWidth = 0.7 / at.scale; ink.lineJoin = "round";
      for (const [, k] of seen) ink.stroke(own.drawn[k]);
    }
    if (own.outer) {
      ink.strokeStyle = "#1a2530"; ink.lineWidth = 1.4 / at.scale; ink.stroke(own.outer);
    }
    if (column().symbols) {
      const classes = column().texts.length, largest = largestSymbol(own, at.scale);
      const shown = seen.map(([, k]) => k).filter((k) => classOf(k) >= 0);
      for (const k of shown.sort((a, b) => classOf(b) - classOf(a))) {
        const radius = radiusOf(classOf(k), classes, largest) / at.scale;
        disc(ink, own.centres[k][0], own.centres[k][1], radius, 1 / at.scale);
      }
    }
    for (const k of new Set([state.under, state.chosen])) {
      if (k < 0 || !own.boxes[k]) continue;
      ink.lineJoin = "round";
      ink.strokeStyle = "#ffffff"; ink.lineWidth = 6 / at.scale; ink.stroke(own.drawn[k]);
      ink.strokeStyle = "#c01048"; ink.lineWidth = 3 / at.scale; ink.stroke(own.drawn[k]);
    }
    scaleBar(own, at.scale, fine);
  };

  // -- what is said ---------------------------------------------------------------------------

  const meaningOf = (area) => {
    const [text, kind, limited] = figure(area);
    if (limited) return table().signs["( )"];
    if (kind < 0) return table().signs[text] || words.interval;
    return text.endsWith("*") ? words.official : "";
  };
  const say = (area) => {
    said.textContent = "";
    if (area < 0) { make("span", words.none, said); return; }
    make("strong", nameOf(shape(), area), said);
    make("span", figure(area)[0], said, "figure");
    const meaning = meaningOf(area);
    if (meaning) make("span", meaning, said, "meaning");
  };
  const legend = () => {
    keys.textContent = "";
    const own = column(), counts = new Map(), signs = new Map();
    let limited = 0;
    own.areas.forEach((_, k) => {
      const [text, kind, marked] = figure(k);
      limited += marked ? 1 : 0;
      if (kind >= 0) { counts.set(kind, (counts.get(kind) || 0) + 1); return; }
      const sign = table().signs[text] ? text : "a–b";
      signs.set(sign, [kind, ((signs.get(sign) || [0, 0])[1]) + 1]);
    });
    const lines = counts.size ? own.texts.map((text, k) => [k, text, counts.get(k) || 0]) : [];
    for (const [sign, [kind, number]] of [...signs].sort((a, b) => b[1][0] - a[1][0])) {
      lines.push([kind, `${sign}  ${table().signs[sign] || words.interval}`, number]);
    }
    if (limited) lines.push(["limited", `( )  ${table().signs["( )"]}`, limited]);
    for (const [kind, text, number] of lines) {
      const item = make("li", undefined, keys), box = make("canvas", undefined, item);
      box.width = 60; box.height = 40; box.setAttribute("aria-hidden", "true");
      const to = box.getContext("2d");
      to.fillStyle = "#ffffff"; to.fillRect(0, 0, 60, 40);
      to.scale(2, 2);
      to.fillStyle = kind === "limited" ? patternOf(to, kind, 1) : fillOf(to, kind, 1);
      if (kind >= 0 && own.symbols) {
        disc(to, 15, 10, radiusOf(kind, own.texts.length, 9), 1);
      } else to.fillRect(0, 0, 30, 20);
      const beside = make("span", `${text} `, item);
      const areas = words.areas.replace("{number}", number.toLocaleString(data.language));
      make("small", `(${number === 1 ? words.one : areas})`, beside);
    }
  };
  const listed = () => {
    const own = shape(), wanted = search.value.trim().toLocaleLowerCase(data.language);
    body.textContent = "";
    let shown = 0, all = 0;
    own.codes.forEach((code, k) => {
      const name = nameOf(own, k), whole = own.prefix + code;
      if (wanted && !`${name} ${whole}`.toLocaleLowerCase(data.language).includes(wanted)) return;
      all += 1;
      if (shown >= 1000) return;
      shown += 1;
      const row = make("tr", undefined, body);
      make("th", name, row).scope = "row";
      make("td", whole, row, "code");
      const cell = make("td", undefined, row), meaning = meaningOf(k);
      const inner = make(meaning ? "abbr" : "span", figure(k)[0], cell);
      if (meaning) inner.title = meaning;
    });
    const counted = (number) => number.toLocaleString(data.language);
    find("listed").textContent = words.listed.replace("{shown}", counted(shown)).replace("{all}", counted(all));
  };

  // -- choices --------------------------------------------------------------------------------

  const choice = (label, options, chosen, change) => {
    const around = make("label", label, find("choices")), select = make("select", undefined, around);
    options.forEach((text, k) => { make("option", text, select).value = k; });
    select.value = chosen;
    select.addEventListener("change", () => change(Number(select.value)));
  };
  const sized = () => {
    const own = shape(), most = Math.max(260, window.innerHeight * 0.72);
    canvas.style.height = `${Math.max(260, Math.min(most, canvas.clientWidth * own.height / own.width))}px`;
    redraw();
  };
  const refresh = () => { legend(); listed(); say(state.chosen); sized(); };
  const choices = () => {
    find("choices").textContent = "";
    if (data.tables.length > 1) {
      choice(words.table, data.tables.map((each) => each.title), state.table, open);
    }
    find("title").textContent = table().title;
    find("about").textContent = table().about;
    data.tables.forEach((_, k) => { find(`notes-${k}`).hidden = k !== state.table; });
    if (table().levels.length > 1) {
      choice(words.level, table().levels.map((each) => each.name), state.level, (k) => {
        const shared = table().levels[k].shape === level().shape;
        state.level = k;
        if (!shared) { state.chosen = state.under = -1; state.zoom = 1; state.x = state.y = 0; }
        refresh();
      });
    }
    table().variables.forEach((each, k) => {
      if (each.codes.length > 1) {
        choice(each.label, each.codes, state.codes[k], (code) => { state.codes[k] = code; refresh(); });
      }
    });
  };
  const open = (number) => {
    Object.assign(state, { table: number, chosen: -1, under: -1, zoom: 1, x: 0, y: 0 });
    state.level = table().levels.length - 1;
    state.codes = table().variables.map(() => 0);
    choices();
    refresh();
  };

  // -- pointer and keys -----------------------------------------------------------------------

  const areaAt = (left, top) => {
    const at = place(), x = (left - at.x) / at.scale, y = (top - at.y) / at.scale, own = prepared(shape());
    ink.save(); ink.setTransform(1, 0, 0, 1, 0, 0);
    const hit = own.boxes.findIndex((box, k) => box && x >= box[0] && x <= box[2] && y >= box[1]
      && y <= box[3] && ink.isPointInPath(own.drawn[k], x, y, "evenodd"));
    ink.restore();
    return hit;
  };
  const zoomTo = (zoom, left, top) => {
    const before = place();
    const x = (left - before.x) / before.scale, y = (top - before.y) / before.scale;
    state.zoom = Math.min(64, Math.max(1, zoom));
    if (state.zoom === 1) { state.x = state.y = 0; } else {
      const own = shape(), scale = scaleNow();
      state.x = x - own.width / 2 - (left - canvas.clientWidth / 2) / scale;
      state.y = y - own.height / 2 - (top - canvas.clientHeight / 2) / scale;
    }
    canvas.style.touchAction = state.zoom > 1 ? "none" : "auto";
    redraw();
  };
  const zoomBy = (factor) => {
    const box = state.chosen >= 0 ? prepared(shape()).boxes[state.chosen] : null, at = place();
    const left = box ? (box[0] + box[2]) / 2 * at.scale + at.x : canvas.clientWidth / 2;
    const top = box ? (box[1] + box[3]) / 2 * at.scale + at.y : canvas.clientHeight / 2;
    zoomTo(state.zoom * factor, left, top);
  };
  const choose = (area) => {
    state.chosen = area;
    const box = area < 0 ? null : prepared(shape()).boxes[area];
    if (box) {
      const at = place(), x = (box[0] + box[2]) / 2, y = (box[1] + box[3]) / 2;
      const left = x * at.scale + at.x, top = y * at.scale + at.y, edge = 24;
      if (left < edge || top < edge || left > canvas.clientWidth - edge || top > canvas.clientHeight - edge) {
        state.x = x - shape().width / 2; state.y = y - shape().height / 2;
      }
    }
    say(area);
    redraw();
  };
  const neighbour = (dx, dy) => {
    const own = prepared(shape()), at = place();
    const middle = (box) => [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
    const here = state.chosen >= 0 && own.boxes[state.chosen]
      ? middle(own.boxes[state.chosen])
      : [(canvas.clientWidth / 2 - at.x) / at.scale, (canvas.clientHeight / 2 - at.y) / at.scale];
    let best = -1, least = Infinity;
    own.boxes.forEach((box, k) => {
      if (!box || k === state.chosen) return;
      const [x, y] = middle(box), along = (x - here[0]) * dx + (y - here[1]) * dy;
      const aside = Math.abs((x - here[0]) * dy) + Math.abs((y - here[1]) * dx);
      if (state.chosen >= 0 && (along <= 0 || aside > along * 1.5)) return;
      const far = state.chosen >= 0 ? along + 2 * aside : Math.hypot(x - here[0], y - here[1]);
      if (far < least) { least = far; best = k; }
    });
    if (best >= 0) choose(best);
  };
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (ways[event.key]) neighbour(...ways[event.key]);
    else if (event.key === "+" || event.key === "=") zoomBy(1.6);
    else if (event.key === "-") zoomBy(1 / 1.6);
    else if (event.key === "0") zoomTo(1, 0, 0);
    else if (event.key === "Escape") choose(-1);
    else return;
    event.preventDefault();
  });
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, y: event.clientY, moved: false };
    if (state.zoom > 1) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held && state.zoom > 1) {
      const dx = event.clientX - held.x, dy = event.clientY - held.y;
      if (held.moved || Math.hypot(dx, dy) > 4) {
        state.x -= dx / scaleNow(); state.y -= dy / scaleNow();
        held = { x: event.clientX, y: event.clientY, moved: true };
        redraw();
      }
      return;
    }
    const area = areaAt(event.offsetX, event.offsetY);
    if (area !== state.under) { state.under = area; say(area >= 0 ? area : state.chosen); redraw(); }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held && !held.moved) choose(areaAt(event.offsetX, event.offsetY));
    held = null;
  });
  canvas.addEventListener("pointercancel", () => { held = null; });
  canvas.addEventListener("pointerleave", () => {
    if (state.under >= 0) { state.under = -1; say(state.chosen); redraw(); }
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoomTo(state.zoom * Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });
  find("nearer").addEventListener("click", () => zoomBy(1.6));
  find("farther").addEventListener("click", () => zoomBy(1 / 1.6));
  find("whole").addEventListener("click", () => zoomTo(1, 0, 0));
  search.addEventListener("input", () => {
    listed();
    const own = shape(), wanted = search.value.trim().toLocaleLowerCase(data.language);
    if (!wanted) { choose(-1); return; }
    const names = own.codes.map((_, k) => nameOf(own, k).toLocaleLowerCase(data.language));
    const first = names.findIndex((name) => name.startsWith(wanted));
    choose(first >= 0 ? first : names.findIndex((name) => name.includes(wanted)));
  });
  window.addEventListener("resize", sized);
  find("atlas").hidden = false;
  open(0);
})();
