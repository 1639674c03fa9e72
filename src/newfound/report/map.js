"use strict";
/*
 * A map of points: pan, zoom, hover, highlight a group, lasso. No dependency; 60,000 points are drawn in some 20 ms.
 *
 *   const map = createMap(element, {
 *     x, y,          Uint16Array: places, 0 to 65535 on both axes
 *     group,         Uint8Array or Uint16Array: the group of each point
 *     groups,        [{ name, colour, shape, size, isNamed }]: colour is any CSS colour, or a custom property ("--new-0");
 *                    groups are drawn in this order, so the last one lies on top
 *     strength,      Uint8Array: how opaque each point is, 255 fully
 *     ringed,        Uint8Array: 1 for points with an outline
 *     describe,      (point) => lines of text, shown where the pointer is
 *     onSelect,      (points) => called once a lasso is closed, and with [] when it is given up
 *   });
 *   map.highlight(group | null), map.select(points), map.zoom(factor), map.pan(dx, dy), map.reset(), map.setMode("pan" | "lasso"),
 *   map.redraw(), map.place(point), map.frame()
 *
 * Points are drawn straight into pixels, through a small mask for each shape: no path, no state, the same on every
 * machine. Names, the lasso and the ring around the pointer's point lie on a second canvas, so that moving the pointer
 * redraws no point.
 */
const SHAPES = {
  circle: (x, y) => x * x + y * y <= 1,
  bar: (x, y) => Math.abs(x) <= 1.2 && Math.abs(y) <= 0.45,
  ring: (x, y) => x * x + y * y <= 1 && x * x + y * y >= 0.3,
  diamond: (x, y) => Math.abs(x) + Math.abs(y) <= 1.2,
  square: (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 0.85,
  triangle: (x, y) => y <= 0.75 && y >= -1.05 + 1.8 * Math.abs(x),
  down: (x, y) => y >= -0.75 && y <= 1.05 - 1.8 * Math.abs(x),
  cross: (x, y) => Math.min(Math.abs(x), Math.abs(y)) <= 0.38 && Math.max(Math.abs(x), Math.abs(y)) <= 1.05,
};
const FULL = 65535, PADDING = 26, NEAR = 9, CELLS = 96, MAX_ZOOM = 60, DIMMED = 0.13, QUICK = 14; // pixels and milliseconds

/** The pixels around a point's own that lie in the shape, and how much of each does. */
function makeMask(shape, radius) {
  const reach = Math.ceil(radius * 1.2), inside = SHAPES[shape] || SHAPES.circle, fine = 4, found = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      let hits = 0;
      for (let k = 0; k < fine * fine; k++) {
        const x = dx + ((k % fine) + 0.5) / fine - 0.5, y = dy + (Math.floor(k / fine) + 0.5) / fine - 0.5;
        hits += inside(x / radius, y / radius);
      }
      if (hits) found.push([dx, dy, hits / (fine * fine)]);
    }
  }
  const column = (Type, i) => Type.from(found, (one) => one[i]);
  return { dx: column(Int16Array, 0), dy: column(Int16Array, 1), weight: column(Float32Array, 2), reach };
}

/** Points by the cell of a grid they lie in, so that the one under the pointer is found among a few. */
function makeGrid(x, y) {
  const first = new Uint32Array(CELLS * CELLS + 1), cellOf = (i) => ((y[i] * CELLS) >> 16) * CELLS + ((x[i] * CELLS) >> 16);
  for (let i = 0; i < x.length; i++) first[cellOf(i) + 1]++;
  for (let c = 0; c < CELLS * CELLS; c++) first[c + 1] += first[c];
  const points = new Uint32Array(x.length), next = first.slice();
  for (let i = 0; i < x.length; i++) points[next[cellOf(i)]++] = i;
  return { first, points };
}

/** Where a group's name goes: the middle of the densest place that the group has. */
function densestPlace(points, x, y) {
  const BINS = 12, n = new Uint32Array(BINS * BINS), binOf = (i) => ((y[i] * BINS) >> 16) * BINS + ((x[i] * BINS) >> 16);
  for (const i of points) n[binOf(i)]++;
  const best = n.indexOf(n.reduce((a, b) => Math.max(a, b), 0));
  const own = points.filter((i) => binOf(i) === best);
  const mean = (values) => own.reduce((sum, i) => sum + values[i], 0) / Math.max(own.length, 1);
  return [mean(x), mean(y)];
}

function insidePolygon(px, py, polygon) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
    if (yi > py !== yj > py && px < ((xj - xi) * (py - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

function createMap(element, options) {
  const { x, y, group, groups, strength, ringed = new Uint8Array(0), describe, onSelect = () => {} } = options;
  const n = x.length, sizeOfAll = Math.min(1.25, Math.max(0.62, 1.25 - 0.3 * Math.log10(Math.max(n, 300) / 300)));
  const points = document.createElement("canvas"), overlay = document.createElement("canvas"), tip = document.createElement("div");
  tip.className = "map-tip";
  tip.hidden = true;
  element.replaceChildren(points, overlay, tip);
  const context = points.getContext("2d", { alpha: false, willReadFrequently: true }), above = overlay.getContext("2d");

  const ofGroup = groups.map(() => []);
  for (let i = 0; i < n; i++) ofGroup[group[i]].push(i);
  const order = Uint32Array.from(ofGroup.flat()), grid = makeGrid(x, y);
  const names = groups.map((_, g) => (ofGroup[g].length ? densestPlace(ofGroup[g], x, y) : null));

  let width = 0, height = 0, density = 1, view = { k: 1, tx: 0, ty: 0 }, drawn = view, pixels = null, cost = 0;
  let chosen = null, selection = null, isSelected = null, mode = "pan", hovered = -1, lasso = null, waiting = 0;

  const flatX = (i) => PADDING + (x[i] / FULL) * (width - 2 * PADDING);
  const flatY = (i) => PADDING + (1 - y[i] / FULL) * (height - 2 * PADDING);
  const place = (i) => [flatX(i) * view.k + view.tx, flatY(i) * view.k + view.ty];
  const css = (colour) => (colour.startsWith("--") ? getComputedStyle(element).getPropertyValue(colour).trim() : colour);
  function rgb(colour) { // as the browser reads it, in any notation
    above.fillStyle = "#888";
    above.fillStyle = css(colour);
    const value = parseInt(above.fillStyle.slice(1, 7), 16);
    return [value >> 16, (value >> 8) & 255, value & 255];
  }
  const isBright = (i) => (isSelected ? isSelected[i] === 1 : chosen === null || group[i] === chosen);

  // ---- points ----
  function drawPoints() {
    const began = performance.now();
    const w = points.width, h = points.height, data = pixels.data, [r0, g0, b0] = rgb("--map-paper"), ink = rgb("--ink");
    new Uint32Array(data.buffer).fill((255 << 24) | (b0 << 16) | (g0 << 8) | r0);
    const grow = density * sizeOfAll * (1 + 0.3 * Math.log2(view.k));
    const masks = groups.map((one) => makeMask(one.shape, one.size * grow)), colours = groups.map((one) => rgb(one.colour));
    const rims = groups.map((one) => makeMask(one.shape, one.size * grow + 0.9 * density));
    function stamp({ dx, dy, weight, reach }, cx, cy, [r, g, b], alpha) {
      const isInside = cx >= reach && cy >= reach && cx < w - reach && cy < h - reach;
      for (let m = 0; m < weight.length; m++) {
        const across = cx + dx[m], down = cy + dy[m];
        if (!isInside && (across < 0 || down < 0 || across >= w || down >= h)) continue;
        const at = 4 * (down * w + across), a = weight[m] * alpha;
        data[at] += (r - data[at]) * a;
        data[at + 1] += (g - data[at + 1]) * a;
        data[at + 2] += (b - data[at + 2]) * a;
      }
    }
    const sx = ((width - 2 * PADDING) / FULL) * view.k * density, ox = (PADDING * view.k + view.tx) * density;
    const sy = (-(height - 2 * PADDING) / FULL) * view.k * density, oy = ((height - PADDING) * view.k + view.ty) * density;
    const isPartial = chosen !== null || isSelected !== null;
    for (const bright of isPartial ? [false, true] : [true]) { // what is chosen lies on top
      for (const i of order) {
        if (isPartial && isBright(i) !== bright) continue;
        const cx = Math.round(x[i] * sx + ox), cy = Math.round(y[i] * sy + oy), g = group[i];
        if (bright && ringed[i]) stamp(rims[g], cx, cy, ink, 0.6);
        stamp(masks[g], cx, cy, colours[g], bright ? 0.3 + (0.65 * strength[i]) / 255 : DIMMED);
      }
    }
    context.putImageData(pixels, 0, 0);
    drawn = view;
    points.style.transform = "";
    cost = performance.now() - began;
  }

  /** What is quick is drawn at once; else the last picture is moved, and drawn again when the hand rests. */
  function refresh() {
    clearTimeout(waiting);
    if (cost < QUICK) drawPoints();
    else {
      const k = view.k / drawn.k;
      points.style.transform = `matrix(${k}, 0, 0, ${k}, ${view.tx - drawn.tx * k}, ${view.ty - drawn.ty * k})`;
      waiting = setTimeout(drawPoints, 90);
    }
    drawOverlay();
  }
  const redraw = () => { if (width) { drawPoints(); drawOverlay(); } };

  // ---- names, lasso, the point under the pointer ----
  function drawOverlay() {
    above.setTransform(density, 0, 0, density, 0, 0);
    above.clearRect(0, 0, width, height);
    drawNames();
    if (hovered >= 0) {
      above.beginPath();
      above.arc(...place(hovered), 7, 0, 7);
      above.strokeStyle = css("--ink");
      above.lineWidth = 2;
      above.stroke();
    }
    if (lasso) {
      above.beginPath();
      lasso.forEach(([px, py], i) => (i ? above.lineTo(px, py) : above.moveTo(px, py)));
      above.setLineDash([5, 4]);
      above.strokeStyle = css("--ink");
      above.lineWidth = 1.5;
      above.stroke();
      above.setLineDash([]);
    }
  }
  function drawNames() {
    above.font = `600 12.5px ${getComputedStyle(element).fontFamily}`;
    above.textAlign = "center";
    above.textBaseline = "middle";
    above.lineJoin = "round";
    const taken = [], first = groups.map((_, g) => g).sort((a, b) => (b === chosen) - (a === chosen) || b - a);
    for (const g of first) {
      if (!groups[g].isNamed || !names[g] || (chosen !== null && g !== chosen)) continue;
      const text = groups[g].name.length > 22 ? `${groups[g].name.slice(0, 21)}…` : groups[g].name;
      const half = above.measureText(text).width / 2 + 3;
      const px = (PADDING + (names[g][0] / FULL) * (width - 2 * PADDING)) * view.k + view.tx;
      const py = (PADDING + (1 - names[g][1] / FULL) * (height - 2 * PADDING)) * view.k + view.ty;
      if (px < half || px > width - half || py < 10 || py > height - 10) continue;
      if (taken.some(([qx, qy, other]) => Math.abs(px - qx) < half + other && Math.abs(py - qy) < 17)) continue;
      taken.push([px, py, half]);
      above.strokeStyle = css("--map-paper");
      above.lineWidth = 4;
      above.strokeText(text, px, py);
      above.fillStyle = css("--ink");
      above.fillText(text, px, py);
    }
  }

  function pointAt(px, py) {
    const spanX = (NEAR / view.k / (width - 2 * PADDING)) * FULL, spanY = (NEAR / view.k / (height - 2 * PADDING)) * FULL;
    const dataX = (((px - view.tx) / view.k - PADDING) / (width - 2 * PADDING)) * FULL;
    const dataY = (1 - ((py - view.ty) / view.k - PADDING) / (height - 2 * PADDING)) * FULL;
    const cell = (value) => Math.min(CELLS - 1, Math.max(0, Math.floor((value * CELLS) / (FULL + 1))));
    let best = -1, nearest = NEAR * NEAR;
    for (let row = cell(dataY - spanY); row <= cell(dataY + spanY); row++) {
      for (let at = grid.first[row * CELLS + cell(dataX - spanX)]; at < grid.first[row * CELLS + cell(dataX + spanX) + 1]; at++) {
        const i = grid.points[at], [qx, qy] = place(i), d = (qx - px) ** 2 + (qy - py) ** 2;
        if (d < nearest && isBright(i)) { nearest = d; best = i; }
      }
    }
    return best;
  }
  function hover(px, py) {
    const found = px === null ? -1 : pointAt(px, py);
    if (found !== hovered) { hovered = found; drawOverlay(); }
    tip.hidden = found < 0;
    if (found < 0) return;
    tip.replaceChildren(...describe(found).map((line, i) => Object.assign(document.createElement(i ? "div" : "b"), { textContent: line })));
    const [qx, qy] = place(found);
    tip.style.left = `${Math.min(Math.max(qx + 12, 0), Math.max(0, width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${qy + 14 + tip.offsetHeight > height ? Math.max(0, qy - tip.offsetHeight - 12) : qy + 14}px`;
  }

  // ---- where one looks ----
  function moveTo(k, tx, ty) {
    k = Math.min(MAX_ZOOM, Math.max(1, k));
    view = { k, tx: Math.min(0, Math.max(width * (1 - k), tx)), ty: Math.min(0, Math.max(height * (1 - k), ty)) };
    hover(null);
    refresh();
  }
  function zoom(factor, px = width / 2, py = height / 2) {
    const k = Math.min(MAX_ZOOM, Math.max(1, view.k * factor)), f = k / view.k;
    moveTo(k, px - (px - view.tx) * f, py - (py - view.ty) * f);
  }
  const pan = (dx, dy) => moveTo(view.k, view.tx + dx, view.ty + dy);
  const reset = () => moveTo(1, 0, 0);

  // ---- what is chosen ----
  function highlight(g) {
    chosen = g;
    hover(null);
    redraw();
  }
  function select(found) {
    selection = found.length ? found : null;
    isSelected = null;
    if (selection) {
      isSelected = new Uint8Array(n);
      for (const i of selection) isSelected[i] = 1;
    }
    redraw();
    onSelect(found);
  }
  function closeLasso() {
    const polygon = lasso;
    lasso = null;
    if (polygon.length < 3) return select([]);
    const found = [];
    for (let i = 0; i < n; i++) {
      if ((chosen === null || group[i] === chosen) && insidePolygon(...place(i), polygon)) found.push(i);
    }
    select(found);
  }
  function setMode(next) {
    mode = next;
    element.dataset.mode = next;
  }

  // ---- hands ----
  let pressed = null;
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left - element.clientLeft, event.clientY - box.top - element.clientTop];
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pressed = at(event);
    element.setPointerCapture(event.pointerId);
    if (mode === "lasso" || event.shiftKey) lasso = [pressed];
    hover(null);
  });
  element.addEventListener("pointermove", (event) => {
    const now = at(event);
    if (!pressed) return hover(...now);
    if (lasso) {
      lasso.push(now);
      return drawOverlay();
    }
    const [dx, dy] = [now[0] - pressed[0], now[1] - pressed[1]];
    pressed = now;
    pan(dx, dy);
  });
  const release = () => {
    pressed = null;
    if (lasso) closeLasso();
  };
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("pointerleave", () => hover(null));
  element.addEventListener("dblclick", (event) => zoom(2, ...at(event)));
  element.addEventListener("wheel", (event) => { // the page scrolls on, unless one is at work on the map
    if (!event.ctrlKey && document.activeElement !== element) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...at(event));
  }, { passive: false });
  const KEYS = {
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), "0": reset,
    ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
    Escape: () => select([]),
  };
  element.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  function resize() {
    const before = width;
    [width, height, density] = [element.clientWidth, element.clientHeight, window.devicePixelRatio || 1];
    if (!width || !height) return;
    for (const canvas of [points, overlay]) {
      [canvas.width, canvas.height] = [Math.round(width * density), Math.round(height * density)];
      [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    }
    pixels = context.createImageData(points.width, points.height);
    if (before) view = { k: 1, tx: 0, ty: 0 };
    redraw();
  }
  new ResizeObserver(resize).observe(element);
  setMode("pan");
  resize();
  const frame = () => ({ ...view, chosen, n, selected: selection ? selection.length : 0, cost });
  return (element.map = { highlight, select, zoom, pan, reset, setMode, redraw, place, frame });
}
