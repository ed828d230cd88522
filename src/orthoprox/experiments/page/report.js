"use strict";
// Hand-written: curves as SVG, no library, nothing from the network.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const HIDDEN = ["experiment", "dataset", "weight", "kept", "infeasibility", "code"]; // chosen above, or rarely asked for
  const SHORT = ["criticality", "variance_kept", "seconds"]; // measured roughly, or read roughly
  const BOX = { left: 92, top: 14 }; // right and bottom follow from the size of the picture
  const SIZE = { width: 900, height: 460 };
  const hidden = new Set();
  let view = null; // the zoomed part {x0, x1, y0, y1} in units of the data, or null for everything
  let scale = null; // from data to the picture and back
  let order = { column: null, down: false };

  function element(name, attributes, parent, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  // ---------------------------------------------------------------- what is chosen

  const experiment = () => data.experiments.find((e) => e.name === $("experiment").value);
  const words = new Map(data.experiments.flatMap((e) => e.kept.map((kept, i) => [kept, e.spoken[i]])));
  const spoken = (kept) => words.get(kept) ?? String(kept);
  const last = (path) => path.split(/[\\/]/).pop();

  function fill(select, values, words) {
    const before = select.value;
    select.replaceChildren(...values.map((value, i) => new Option(words ? words(value) : value, String(value))));
    if (values.map(String).includes(before)) select.value = before;
  }

  function chosen(curve) {
    return curve.e === $("experiment").value && curve.d === $("dataset").value &&
      String(curve.w) === $("weight").value && String(curve.k) === $("kept").value;
  }

  const curves = () => data.curves.filter(chosen);

  function offer() {
    const e = experiment();
    fill($("dataset"), e.datasets, last);
    fill($("weight"), e.weights);
    fill($("kept"), e.kept, spoken);
  }

  // ---------------------------------------------------------------- scales

  function logarithmic(axis) {
    return $(axis === "x" ? "logx" : "logy").checked;
  }

  function usable(value, axis) {
    return value !== null && Number.isFinite(value) && (!logarithmic(axis) || value > 0);
  }

  function points(curve) {
    const xs = curve[$("axis").value], ys = curve[$("quantity").value];
    const both = [];
    for (let i = 0; i < xs.length; i++) if (usable(xs[i], "x") && usable(ys[i], "y")) both.push([xs[i], ys[i]]);
    return both;
  }

  function extent(all, index, axis) {
    let low = Infinity, high = -Infinity;
    for (const point of all) { low = Math.min(low, point[index]); high = Math.max(high, point[index]); }
    if (low > high) return logarithmic(axis) ? [1, 10] : [0, 1];
    if (low === high) return logarithmic(axis) ? [low / 2, high * 2] : [low - 0.5 * Math.abs(low) - 1e-12, high + 0.5 * Math.abs(high) + 1e-12];
    if (logarithmic(axis)) { const pad = Math.pow(high / low, 0.03); return [low / pad, high * pad]; }
    const pad = 0.03 * (high - low);
    return [low - (axis === "x" ? 0 : pad), high + pad];
  }

  function line(low, high, from, to, log) {
    const there = log ? Math.log : (v) => v, back = log ? Math.exp : (v) => v;
    const a = there(low), b = there(high);
    return {
      low, high, log,
      at: (v) => from + (to - from) * (there(v) - a) / (b - a),
      value: (p) => back(a + (b - a) * (p - from) / (to - from)),
    };
  }

  function ticks(axis) {
    const { low, high, log } = axis;
    if (log && high / low > 8) {
      const found = [], step = Math.max(1, Math.ceil(Math.log10(high / low) / 7));
      for (let e = Math.ceil(Math.log10(low)); e <= Math.log10(high); e += step) found.push(Math.pow(10, e));
      return found;
    }
    const rough = (high - low) / Math.max(2, Math.min(6, SIZE.width / 120)), power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let i = Math.ceil(low / step); i * step <= high; i++) found.push(i * step);
    return found;
  }

  function said(value, axis) {
    if (value === 0) return "0";
    const digits = axis.log && axis.high / axis.low > 8 ? 1 : Math.min(9, Math.max(1, Math.ceil(Math.log10(Math.max(Math.abs(axis.high), Math.abs(axis.low)) / (axis.high - axis.low))) + 2));
    const size = Math.abs(value);
    return size >= 1e5 || size < 1e-3 ? value.toExponential(Math.max(0, digits - 1)) : String(Number(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(size) + 1e-9)))));
  }

  // ---------------------------------------------------------------- drawing

  function marker(shape, x, y, parent, colour) {
    const r = 3.6, paint = { fill: "none", stroke: colour, "stroke-width": 1.4, class: "mark" };
    if (shape === "o" || shape === "h" || shape === "p") return element("circle", { cx: x, cy: y, r: shape === "o" ? r : r - 1, ...paint }, parent);
    const path = {
      s: `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
      "^": `M${x},${y - r - 1}l${r + 1},${2 * r}h${-2 * r - 2}z`,
      v: `M${x},${y + r + 1}l${r + 1},${-2 * r}h${-2 * r - 2}z`,
      D: `M${x},${y - r - 1}l${r + 1},${r + 1}l${-r - 1},${r + 1}l${-r - 1},${-r - 1}z`,
      x: `M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}`,
      "+": `M${x - r},${y}h${2 * r}m${-r},${-r}v${2 * r}`,
      "*": `M${x - r},${y}h${2 * r}m${-r},${-r}v${2 * r}m${-r + 1},-1l${2 * r - 2},${-2 * r + 2}m0,${2 * r - 2}l${-2 * r + 2},${-2 * r + 2}`,
    }[shape];
    return element("path", { d: path, ...paint }, parent);
  }

  function drawCurve(curve, svg) {
    const style = data.styles[curve.m];
    const group = element("g", { "data-method": curve.m, "clip-path": "url(#inside)" }, svg);
    const placed = points(curve).map(([x, y]) => [scale.x.at(x), scale.y.at(y)]);
    if (!placed.length) return;
    const d = placed.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(1) + "," + y.toFixed(1)).join("");
    element("path", { d, class: "curve", stroke: style.colour, "stroke-dasharray": style.dash }, group);
    let next = -Infinity; // markers at even distances in the picture
    placed.forEach(([x, y], i) => {
      if (x >= next || i === placed.length - 1) { marker(style.marker, x, y, group, style.colour); next = x + 95; }
    });
  }

  // one unit is one pixel, so that letters keep their size on a small screen
  function measure(svg) {
    SIZE.width = Math.max(280, Math.round(svg.clientWidth) || 900);
    SIZE.height = Math.round(Math.max(280, Math.min(460, 0.55 * SIZE.width)));
    BOX.left = SIZE.width < 600 ? 74 : 92;
    BOX.right = SIZE.width - 15;
    BOX.bottom = SIZE.height - 45;
    svg.setAttribute("viewBox", `0 0 ${SIZE.width} ${SIZE.height}`);
    svg.setAttribute("height", SIZE.height);
  }

  function draw() {
    const svg = $("chart");
    svg.replaceChildren();
    measure(svg);
    const shown = curves().filter((curve) => !hidden.has(curve.m));
    const all = shown.flatMap(points);
    const [x0, x1] = view ? [view.x0, view.x1] : extent(all, 0, "x");
    const [y0, y1] = view ? [view.y0, view.y1] : extent(all, 1, "y");
    scale = {
      x: line(x0, x1, BOX.left, BOX.right, logarithmic("x")),
      y: line(y0, y1, BOX.bottom, BOX.top, logarithmic("y")),
    };
    const clip = element("clipPath", { id: "inside" }, element("defs", {}, svg));
    const frame = { x: BOX.left, y: BOX.top, width: BOX.right - BOX.left, height: BOX.bottom - BOX.top };
    element("rect", frame, clip);
    for (const value of ticks(scale.x)) {
      const x = scale.x.at(value);
      element("line", { x1: x, x2: x, y1: BOX.top, y2: BOX.bottom, class: "grid" }, svg);
      element("text", { x, y: BOX.bottom + 17, "text-anchor": "middle", class: "tick-x" }, svg, said(value, scale.x));
    }
    for (const value of ticks(scale.y)) {
      const y = scale.y.at(value);
      element("line", { x1: BOX.left, x2: BOX.right, y1: y, y2: y, class: "grid" }, svg);
      element("text", { x: BOX.left - 6, y: y + 4, "text-anchor": "end", class: "tick-y" }, svg, said(value, scale.y));
    }
    const below = $("axis").value === "seconds" ? "seconds in the method" : "iterations";
    element("text", { x: (BOX.left + BOX.right) / 2, y: BOX.bottom + 38, "text-anchor": "middle" }, svg, below);
    const beside = $("quantity").selectedOptions[0].textContent, middle = (BOX.top + BOX.bottom) / 2;
    const turned = { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})`, class: "label-y" };
    element("text", turned, svg, beside);
    element("rect", { ...frame, class: "frame" }, svg);
    shown.forEach((curve) => drawCurve(curve, svg));
    if (!shown.length) element("text", { x: (BOX.left + BOX.right) / 2, y: middle, "text-anchor": "middle" }, svg, "nothing to show for this choice");
  }

  function legend() {
    $("legend").replaceChildren(...curves().map((curve) => {
      const button = document.createElement("button"), style = data.styles[curve.m];
      button.type = "button";
      button.dataset.method = curve.m;
      button.setAttribute("aria-pressed", String(!hidden.has(curve.m)));
      const svg = element("svg", { width: 34, height: 12 }, button);
      element("path", { d: "M0,6H34", stroke: style.colour, "stroke-width": 2, "stroke-dasharray": style.dash }, svg);
      marker(style.marker, 17, 6, svg, style.colour);
      button.append(curve.m);
      button.addEventListener("click", () => {
        if (!hidden.delete(curve.m)) hidden.add(curve.m);
        button.setAttribute("aria-pressed", String(!hidden.has(curve.m)));
        draw();
      });
      return button;
    }));
  }

  // ---------------------------------------------------------------- the table

  const column = (name) => data.columns.indexOf(name);

  function inChoice([e, d, w, k]) { // by all digits, which the numbers in the table do not have
    return e === $("experiment").value && d === $("dataset").value && String(w) === $("weight").value && String(k) === $("kept").value;
  }

  function written(value, name) {
    if (value === null) return "-";
    if (typeof value !== "number" || Number.isInteger(value)) return String(value);
    const size = Math.abs(value);
    return size < 1e-3 || size >= 1e6 ? value.toExponential(1) : String(Number(value.toPrecision(SHORT.includes(name) ? 3 : 6)));
  }

  const classes = (i) => [HIDDEN.includes(data.columns[i]) ? "choice" : "", data.columns[i] === "method" ? "first" : ""];

  function table() {
    $("table").classList.toggle("all", $("everything").checked);
    const head = document.createElement("tr");
    data.columns.forEach((name, i) => {
      const cell = document.createElement("th");
      cell.textContent = name.replace("_", " ");
      cell.dataset.column = name;
      const words = data.rows.some((row) => typeof row[i] === "string");
      cell.className = [...classes(i), words ? "word" : ""].join(" ").trim();
      if (order.column === i) cell.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      cell.addEventListener("click", () => {
        order = { column: i, down: order.column === i && !order.down };
        table();
      });
      head.append(cell);
    });
    $("table").tHead.replaceChildren(head);
    const rows = data.rows.filter((row, i) => $("everything").checked || inChoice(data.keys[i]));
    if (order.column !== null) {
      const i = order.column, sign = order.down ? -1 : 1;
      rows.sort((a, b) => {
        if (a[i] === null || b[i] === null) return (a[i] === null) - (b[i] === null);
        return sign * (typeof a[i] === "number" ? a[i] - b[i] : String(a[i]).localeCompare(String(b[i])));
      });
    }
    $("table").tBodies[0].replaceChildren(...rows.map((row) => {
      const tr = document.createElement("tr");
      row.forEach((value, i) => {
        const cell = document.createElement("td");
        cell.textContent = data.columns[i] === "dataset" ? last(value) : written(value, data.columns[i]);
        cell.className = [...classes(i), typeof value === "string" ? "word" : ""].join(" ").trim();
        tr.append(cell);
      });
      return tr;
    }));
  }

  // ---------------------------------------------------------------- verdicts

  function prose(id, head, lines) {
    $(id).hidden = !lines.length;
    const cell = (name, parts) => {
      const made = document.createElement(name);
      made.append(...[parts].flat());
      return made;
    };
    const line = (name, cells) => cell("tr", cells.map((parts) => cell(name, parts)));
    const table = $(id).querySelector("table");
    table.tHead.replaceChildren(line("th", head));
    table.tBodies[0].replaceChildren(...lines.map((cells) => line("td", cells)));
  }

  function classed(name, text, type) {
    const made = document.createElement(name);
    made.textContent = text;
    if (type) made.className = type;
    return made;
  }

  function verdict(word, holds, panels) {
    const made = classed("span", word, "verdict");
    if (panels) made.append(" ", classed("small", `${holds} of ${panels}`));
    return made;
  }

  function verdicts() {
    const here = $("experiment").value, groups = (claim) => claim.groups.filter(([e]) => e === here);
    const head = data.verdicts.length ? groups(data.verdicts[0]).map(([, w, k]) => `weight ${w}, k = ${spoken(k)}`) : [];
    const lines = data.verdicts.map((claim) => [
      [claim.statement, document.createElement("br"), classed("span", `Test: ${claim.test}.`, "test")],
      ...groups(claim).map(([, , , ...found]) => verdict(...found)),
    ]);
    prose("verdicts", ["statement", ...head], head.length ? lines : []);
    const measured = data.analysis.map(([statement, word, what]) => [statement, classed("span", word, "verdict"), what]);
    prose("analysis", ["statement", "verdict", "measured"], measured);
  }

  // ---------------------------------------------------------------- settings

  function plain(value) {
    if (value === null || typeof value !== "object") return String(value);
    if (Array.isArray(value)) return value.map(plain).join(", ");
    return Object.entries(value).map(([name, of]) => `${name.replaceAll("_", " ")} ${plain(of)}`).join(", ");
  }

  function settings() {
    const list = document.createElement("dl");
    const add = (name, text) => {
      const dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = text;
      list.append(dt, dd);
    };
    const empty = (value) => value === "" || (typeof value === "object" && !Object.keys(value).length);
    for (const [name, value] of Object.entries(experiment().settings)) {
      if (empty(value)) continue;
      if (name === "methods") for (const [label, line] of Object.entries(value)) add(label, plain(line));
      else add(name, plain(value));
    }
    for (const [name, found] of Object.entries(data.provenance)) for (const [what, n] of found) add(name, `${plain(what)} (${n} run${n === 1 ? "" : "s"})`);
    if (data.missing) add("missing", `${data.missing} runs have no result yet`);
    $("settings").replaceChildren(list);
  }

  // ---------------------------------------------------------------- zoom by dragging

  let drag = null;

  function inPicture(event) {
    const svg = $("chart"), box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * SIZE.width / box.width, y = (event.clientY - box.top) * SIZE.height / box.height;
    return [Math.min(BOX.right, Math.max(BOX.left, x)), Math.min(BOX.bottom, Math.max(BOX.top, y))];
  }

  $("chart").addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { from: inPicture(event), box: element("rect", { class: "box" }, $("chart")) };
    $("chart").setPointerCapture(event.pointerId);
  });
  $("chart").addEventListener("pointermove", (event) => {
    const [x, y] = inPicture(event);
    $("readout").textContent = `${$("axis").value === "seconds" ? "time" : "iteration"} ${scale.x.value(x).toPrecision(4)}, value ${scale.y.value(y).toPrecision(5)}`;
    if (!drag) return;
    const [a, b] = drag.from;
    const shape = { x: Math.min(a, x), y: Math.min(b, y), width: Math.abs(x - a), height: Math.abs(y - b) };
    for (const [key, value] of Object.entries(shape)) drag.box.setAttribute(key, value);
  });
  $("chart").addEventListener("pointerup", (event) => {
    if (!drag) return;
    const [x, y] = inPicture(event), [a, b] = drag.from;
    drag.box.remove();
    drag = null;
    if (Math.abs(x - a) < 6 || Math.abs(y - b) < 6) return;
    view = {
      x0: scale.x.value(Math.min(a, x)), x1: scale.x.value(Math.max(a, x)),
      y0: scale.y.value(Math.max(b, y)), y1: scale.y.value(Math.min(b, y)),
    };
    draw();
  });

  function whole() { view = null; draw(); }
  $("chart").addEventListener("dblclick", whole);
  $("reset").addEventListener("click", whole);

  // ---------------------------------------------------------------- begin

  function all() { view = null; legend(); draw(); verdicts(); table(); settings(); }
  $("experiment").addEventListener("change", () => { offer(); all(); });
  for (const id of ["dataset", "weight", "kept"]) $(id).addEventListener("change", all);
  for (const id of ["quantity", "axis", "logx", "logy"]) $(id).addEventListener("change", whole);
  $("everything").addEventListener("change", table);
  window.addEventListener("resize", () => { if (data.experiments.length) draw(); });
  if (data.experiments.length) {
    $("experiment").replaceChildren(...data.experiments.map((e) => new Option(e.title, e.name)));
    offer();
    all();
  }
})();
