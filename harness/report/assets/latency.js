"use strict";

const KINDS = ["acquire", "write", "read", "release", "renew", "append", "fence", "revoke", "unanswered"];
const COLOURS = {
  light: ["#8a6d00", "#0a66b7", "#1f9bcf", "#59636f", "#b37a00", "#0a6b50", "#7a3fa0", "#444", "#c8102e"],
  dark: ["#e0c060", "#5aa9ef", "#8fd3f7", "#9eabb8", "#e0a93b", "#5fd3ad", "#c79bea", "#bbb", "#ff5d6c"],
};

/** Columns on one axis of time, as uPlot wants them, from a pair of columns for each kind. */
function aligned(series, kinds) {
  const times = [...new Set(kinds.flatMap((kind) => series[kind][0]))].sort((a, b) => a - b);
  const place = new Map(times.map((time, i) => [time, i]));
  const columns = kinds.map((kind) => {
    const column = new Array(times.length).fill(null);
    series[kind][0].forEach((time, i) => (column[place.get(time)] = series[kind][1][i]));
    return column;
  });
  return [times, ...columns];
}

/** Of an axis' splits, the powers of ten. */
function powers(_, splits) {
  return splits.map((split) => (Math.abs(Math.log10(split) - Math.round(Math.log10(split))) < 1e-6 ? split : null));
}

/** Faults over the plot: a wash beneath the points, a bar on top. */
function bandsPlugin(bands, length) {
  const draw = (plot) => {
    const { ctx, bbox } = plot;
    const colours = palette();
    const ratio = window.devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const band of bands) {
      const kind = band.kind === "pause" ? "pause" : "cut";
      const left = plot.valToPos(band.from / 1e6, "x", true);
      const right = plot.valToPos((band.to ?? length) / 1e6, "x", true);
      const top = bbox.top + (2 + ((band.lane ?? 0) % 6) * 6) * ratio;
      ctx.fillStyle = colours[`${kind}-wash`];
      ctx.fillRect(left, bbox.top, Math.max(2, right - left), bbox.height);
      ctx.fillStyle = colours[kind];
      ctx.fillRect(left, top, Math.max(2, right - left - 2), 4 * ratio);
    }
    ctx.restore();
  };
  return { hooks: { drawClear: draw } };
}

/** Draw how long calls took; returns a function that redraws them, for another width or scheme. */
function plotLatency(element, series, drawing) {
  const kinds = KINDS.filter((kind) => series[kind]);
  if (!kinds.length) return () => {};
  element.hidden = false;
  const data = aligned(series, kinds);
  let plot = null;
  return () => {
    if (!element.clientWidth) return; // the details are closed
    plot?.destroy();
    const dark = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
    const colours = palette();
    const pens = COLOURS[dark ? "dark" : "light"];
    const axis = { stroke: colours.soft, grid: { stroke: colours.rule, width: 1 }, ticks: { stroke: colours.rule } };
    plot = new uPlot({
      width: element.clientWidth,
      height: element.clientWidth < 560 ? 260 : 330,
      plugins: [bandsPlugin(drawing.bands, drawing.length)],
      cursor: { drag: { x: true, y: false }, points: { size: 8 } },
      scales: { x: { time: false }, y: { distr: 3, log: 10 } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`) },
        { ...axis, grid: { ...axis.grid, filter: powers }, ticks: { show: false }, size: 66, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : format.duration(tick * 1000))) },
      ],
      series: [
        { label: "time", value: (_, seconds) => (seconds === null ? "–" : format.moment(seconds * 1e6)) },
        ...kinds.map((kind) => {
          const pen = pens[KINDS.indexOf(kind)];
          return {
            label: kind,
            stroke: pen,
            paths: () => null,
            points: { show: true, size: 4.5, stroke: pen, fill: kind === "unanswered" ? colours.paper : pen, width: 1 },
            value: (_, ms) => (ms === null ? "–" : format.duration(ms * 1000)),
          };
        }),
      ],
    }, data, element);
  };
}
