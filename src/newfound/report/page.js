"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("map-data").textContent);
  const find = (selector) => [...document.querySelectorAll(selector)];

  // ---- light and dark: as the system says, until one chooses ----
  const system = matchMedia("(prefers-color-scheme: dark)"), theme = document.getElementById("theme");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  function paint() {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Use ${theme.textContent.toLowerCase()} colours`);
    if (map) map.redraw();
  }

  // ---- the map ----
  const TYPES = { Uint8Array, Uint16Array, Uint32Array };
  function unpack({ type, bytes }) {
    const text = atob(bytes), stored = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) stored[i] = text.charCodeAt(i);
    return new TYPES[type](stored.buffer);
  }
  const { x, y, group, probability, predicted, label, truth } = Object.fromEntries(
    Object.entries(data.columns).map(([name, column]) => [name, unpack(column)]));
  const idOf = (i) => (Array.isArray(data.ids) ? data.ids[i] : String(data.ids.first + i));
  const percent = (share) => `${Math.round(100 * share)}%`;

  function describe(i) {
    const own = data.groups[group[i]].name, guess = data.names[predicted[i]];
    const lines = [own, `row ${idOf(i)}`, `${guess === own ? "" : `predicted ${guess}, `}probability ${percent(probability[i] / 255)}`];
    if (label[i]) lines.push(`label: ${data.names[label[i]]}`);
    if (truth && truth[i]) lines.push(`true class: ${data.names[truth[i]]}`);
    return lines;
  }
  const frame = document.getElementById("map"), entries = find("[data-show]");
  const map = createMap(frame, {
    x, y, group, groups: data.groups, strength: probability, ringed: label.map((one) => (one ? 1 : 0)), describe, onSelect: tellSelection,
  });

  // ---- a class is shown by dimming the others ----
  let shown = null;
  function show(anchor) {
    shown = shown === anchor ? null : anchor;
    map.highlight(shown === null ? null : data.groups.findIndex((one) => one.anchor === shown));
    entries.forEach((entry) => entry.setAttribute("aria-pressed", entry.dataset.show === shown));
    find("[data-card]").forEach((card) => card.classList.toggle("chosen", card.dataset.card === shown));
  }
  entries.forEach((entry) => entry.addEventListener("click", () => {
    show(entry.dataset.show);
    if ("far" in entry.dataset && shown !== null) document.getElementById("answer").scrollIntoView();
  }));
  frame.addEventListener("keydown", (event) => { if (event.key === "Escape" && shown !== null) show(shown); });

  find("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    if (Number(button.dataset.zoom)) map.zoom(Number(button.dataset.zoom));
    else map.reset();
  }));
  const lasso = document.getElementById("lasso");
  lasso.addEventListener("click", () => {
    const isOn = lasso.getAttribute("aria-pressed") !== "true";
    lasso.setAttribute("aria-pressed", isOn);
    map.setMode(isOn ? "lasso" : "pan");
  });

  // ---- rows that a lasso chose ----
  const chosen = document.querySelector(".selection");
  let selected = [];
  function tellSelection(points) {
    selected = points;
    chosen.hidden = points.length === 0;
    const sizes = new Map();
    for (const i of points) sizes.set(group[i], (sizes.get(group[i]) || 0) + 1);
    const most = [...sizes].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([g, n]) => `${n} ${data.groups[g].name}`);
    const rest = sizes.size > 3 ? ", …" : "";
    chosen.querySelector("span").textContent = `${points.length} ${points.length === 1 ? "row" : "rows"}: ${most.join(", ")}${rest}`;
  }
  const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const asCsv = () => ["row_id,class", ...selected.map((i) => `${cell(idOf(i))},${cell(data.groups[group[i]].name)}`)].join("\n") + "\n";
  document.getElementById("clear").addEventListener("click", () => map.select([]));
  document.getElementById("copy-ids").addEventListener("click", (event) => copy(selected.map(idOf).join("\n"), event.target));
  document.getElementById("download-ids").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([asCsv()], { type: "text/csv" }));
    link.download = "selected-rows.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  async function copy(text, button) {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // where a page from a file may not: the old way
      const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    const before = button.dataset.text || (button.dataset.text = button.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  }
  find("[data-copy]").forEach((button) => button.addEventListener("click", () => copy(button.dataset.copy, button)));

  // ---- contents: where one is ----
  const links = new Map(find(".contents a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) links.get(target.id)?.classList.toggle("here", isIntersecting);
  }, { rootMargin: "-20% 0px -70% 0px" });
  find("main > section").forEach((section) => seen.observe(section));

  // ---- paper is light, and shows what is folded away ----
  const folded = [];
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    find("details:not([open])").forEach((one) => { one.open = true; folded.push(one); });
    map.redraw();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    folded.splice(0).forEach((one) => { one.open = false; });
    map.redraw();
  });
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    paint();
  });
  system.addEventListener("change", paint);

  find("[hidden]:not(.selection):not(.map-tip)").forEach((tool) => { tool.hidden = false; }); // of use only where scripts run
  paint();
  root.dataset.drawn = "all";
})();
