"use strict";

/** How each kind of call is drawn: a shape around its point, as of an SVG path, and a colour for each scheme. */
const KINDS = {
  acquire: { shape: "M-2.7 0a2.7 2.7 0 1 0 5.4 0a2.7 2.7 0 1 0-5.4 0z", light: "#806400", dark: "#e0c060" },
  write: { shape: "M-2.4-2.4h4.8v4.8h-4.8z", light: "#0a66b7", dark: "#5aa9ef" },
  read: { shape: "M0-4l3.6 6.6h-7.2z", light: "#00786a", dark: "#3fd1b5" },
  release: { shape: "M-3.4-2.2l1.2-1.2 2.2 2.2 2.2-2.2 1.2 1.2-2.2 2.2 2.2 2.2-1.2 1.2-2.2-2.2-2.2 2.2-1.2-1.2 2.2-2.2z", light: "#59636f", dark: "#9eabb8" },
  renew: { shape: "M-4-1h3v-3h2v3h3v2h-3v3h-2v-3h-3z", light: "#a3309b", dark: "#f08be6" },
  append: { shape: "M0-3.8l3.8 3.8-3.8 3.8-3.8-3.8z", light: "#5b3fc4", dark: "#b3a1ff" },
  fence: { shape: "M0 4l3.6-6.6h-7.2z", light: "#444444", dark: "#dddddd" },
  revoke: { shape: "M-4-1.2h8v2.4h-8z", light: "#7a4a1e", dark: "#d9a27a" },
  submit: { shape: "M-3.6 2.6l3.6-6.4 3.6 6.4-3.6-1.8z", light: "#59636f", dark: "#9eabb8" },
  take: { shape: "M-3-3h6v1.6h-2.2v5h-1.6v-5h-2.2z", light: "#806400", dark: "#e0c060" },
  execute: { shape: "M-3.6-2h7.2v4h-7.2z", light: "#0a66b7", dark: "#5aa9ef" },
  heartbeat: { shape: "M-4-1h3v-3h2v3h3v2h-3v3h-2v-3h-3z", light: "#a3309b", dark: "#f08be6" },
  unanswered: { shape: "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z", light: "#c8102e", dark: "#ff5d6c", hollow: true },
};

/** All points of a series in its shape, as uPlot asks for them. */
function pointsOf(shape) {
  const [one, ratio] = [new Path2D(shape), window.devicePixelRatio || 1];
  return (plot, series, from, to) => {
    const points = new Path2D();
    for (let i = from; i <= to; i += 1) {
      const value = plot.data[series][i];
      if (value === null) continue;
      const [x, y] = [plot.valToPos(plot.data[0][i], "x", true), plot.valToPos(value, "y", true)];
      points.addPath(one, new DOMMatrix([ratio, 0, 0, ratio, x, y]));
    }
    return { fill: points, stroke: points };
  };
}

/** A kind of call in the legend: its shape, and its name. */
function legendOf(kind, pen, fill) {
  const label = document.createElement("span");
  label.innerHTML = `<svg viewBox="-5 -5 10 10" aria-hidden="true"><path d="${KINDS[kind].shape}" stroke="${pen}" fill="${fill}"/></svg>`; // no text of a history is in it
  label.append(kind);
  return label;
}

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
  const kinds = Object.keys(KINDS).filter((kind) => series[kind]);
  if (!kinds.length) return () => {};
  element.hidden = false;
  const data = aligned(series, kinds);
  let plot = null;
  return () => {
    if (!element.clientWidth) return; // the details are closed
    plot?.destroy();
    const scheme = matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches ? "dark" : "light";
    const colours = palette();
    const axis = { stroke: colours.soft, grid: { stroke: colours.rule, width: 1 }, ticks: { stroke: colours.rule } };
    plot = new uPlot({
      width: element.clientWidth,
      height: element.clientWidth < 560 ? 260 : 330,
      plugins: [bandsPlugin(drawing.bands, drawing.length)],
      legend: { markers: { show: false } },
      cursor: { drag: { x: true, y: false }, points: { size: 8 } },
      scales: { x: { time: false }, y: { distr: 3, log: 10 } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`) },
        { ...axis, grid: { ...axis.grid, filter: powers }, ticks: { show: false }, size: 66, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : format.duration(tick * 1000))) },
      ],
      series: [
        { label: "time", value: (_, seconds) => (seconds === null ? "–" : format.moment(seconds * 1e6)) },
        ...kinds.map((kind) => {
          const { shape, hollow, [scheme]: pen } = KINDS[kind];
          const fill = hollow ? colours.paper : pen;
          return {
            label: legendOf(kind, pen, fill),
            stroke: pen,
            paths: () => null,
            points: { show: true, paths: pointsOf(shape), stroke: pen, fill, width: 1 },
            value: (_, ms) => (ms === null ? "–" : format.duration(ms * 1000)),
          };
        }),
      ],
    }, data, element);
  };
}
