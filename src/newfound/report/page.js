"use strict";
(() => {
  const root = document.documentElement;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const isCoarse = matchMedia("(pointer: coarse)").matches; // fingers scroll the page, also across a chart
  const config = { responsive: true, displaylogo: false, modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]] };

  // A colour is the name of a custom property: looked up again whenever light changes to dark.
  function themed(value, styles, key = "") {
    if (typeof value === "string") {
      return value.startsWith("--") && key.endsWith("color") ? styles.getPropertyValue(value).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => themed(item, styles, key));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, themed(item, styles, name)]));
  }

  const axis = { gridcolor: "--line", linecolor: "--line", zerolinecolor: "--line", automargin: true };
  const base = {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: "--soft" },
    hoverlabel: { bgcolor: "--card", bordercolor: "--line", font: { color: "--ink", size: 13 }, align: "left" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: "--line", activecolor: "--soft" },
    dragmode: isCoarse ? false : "zoom",
    uirevision: "kept", // zoom and hidden classes outlive a change of theme
    autosize: true,
  };

  function draw(name) {
    const chart = charts[name];
    const layout = { ...base, ...chart.layout };
    layout.xaxis = { ...axis, ...layout.xaxis };
    layout.yaxis = { ...axis, ...layout.yaxis };
    const styles = getComputedStyle(root);
    return Plotly.react(name, themed(chart.data, styles), themed(layout, styles), config);
  }
  const drawAll = () => Object.keys(charts).forEach(draw);

  // The map and its legend
  const map = document.getElementById("map");
  const entries = [...document.querySelectorAll(".entry")];

  function show(isShown) {
    entries.forEach((entry) => {
      const on = isShown(entry);
      entry.setAttribute("aria-pressed", on);
      charts.map.data[entry.dataset.class].visible = on;
    });
    Plotly.restyle(map, { visible: charts.map.data.map((trace) => trace.visible ?? true) });
  }
  const isOn = (entry) => entry.getAttribute("aria-pressed") === "true";

  entries.forEach((entry) => {
    entry.addEventListener("click", () => show((other) => (other === entry ? !isOn(other) : isOn(other))));
    entry.addEventListener("dblclick", () => show((other) => other === entry));
  });
  document.querySelectorAll("[data-show]").forEach((button) =>
    button.addEventListener("click", () => show((e) => [e.dataset.family, "all"].includes(button.dataset.show))));
  document.querySelectorAll("[data-only]").forEach((button) =>
    button.addEventListener("click", () => {
      show((entry) => entry.dataset.class === button.dataset.only);
      document.getElementById("map-title").scrollIntoView();
    }));

  function zoom(factor) {
    if (!factor) return Plotly.relayout(map, { "xaxis.autorange": true, "yaxis.autorange": true });
    const ranges = {};
    for (const name of ["xaxis", "yaxis"]) {
      const [low, high] = map._fullLayout[name].range;
      const middle = (low + high) / 2, half = ((high - low) / 2) * factor;
      ranges[`${name}.range`] = [middle - half, middle + half];
    }
    return Plotly.relayout(map, ranges);
  }
  document.querySelectorAll("[data-zoom]").forEach((button) =>
    button.addEventListener("click", () => zoom(Number(button.dataset.zoom))));
  document.querySelectorAll("[hidden]").forEach((tool) => { tool.hidden = false; }); // of use only where scripts run

  // Paper is light and narrow, and shows what is folded away. Charts are given its size beforehand: no one tells them.
  const paperSize = (plot) => (plot.id === "map" ? { width: 676, height: 420 } : { width: 296, height: 220 });
  const screenSize = () => ({ width: null, height: null, autosize: true });
  const resize = (size) => document.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.relayout(plot, size(plot)));
  const folded = [];
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    document.querySelectorAll("details:not([open])").forEach((d) => { d.open = true; folded.push(d); });
    drawAll();
    resize(paperSize);
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    folded.splice(0).forEach((d) => { d.open = false; });
    drawAll();
    resize(screenSize);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

  // The map at once; the rest when the page has had time to show itself.
  const later = Object.keys(charts).filter((name) => name !== "map");
  draw("map").then(function next() {
    const name = later.shift();
    if (name) setTimeout(() => draw(name).then(next), 0);
    else root.dataset.drawn = "all";
  });
})();
