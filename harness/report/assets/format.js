"use strict";

/* Times are µs from the first recorded event. */

const format = {
  /** A duration with the digits that matter. */
  duration(us) {
    if (us < 1) return `${Math.round(us * 1000)} ns`;
    if (us < 1000) return `${Math.round(us)} µs`;
    if (us < 10_000) return `${(us / 1000).toFixed(1)} ms`;
    if (us < 1_000_000) return `${Math.round(us / 1000)} ms`;
    return `${(us / 1_000_000).toFixed(2)} s`;
  },

  /** A moment, to the precision that a step between ticks needs. */
  moment(us, step = 1000) {
    const digits = Math.max(0, Math.min(9, Math.ceil(6 - Math.log10(step) - 1e-9)));
    return `${(us / 1_000_000).toFixed(digits)} s`;
  },

  /** A token short enough for a mark; all of it is in the details. */
  token(text) {
    if (text === null) return "none";
    return text.length <= 9 ? text : `…${text.slice(-7)}`;
  },
};

/** The numbers of a column, from their steps. */
function summedUp(steps) {
  let sum = 0;
  return steps.map((step) => (sum += step));
}

/** A drawing's columns as numbers, with times in µs instead of ticks. */
function inMicroseconds(drawing) {
  const { operations: ops, accepted, tick } = drawing;
  for (const [part, names] of [[ops, ["from", "to", "call", "answer"]], [accepted, ["at", "earliest", "latest"]]])
    for (const name of names) part[name] = summedUp(part[name]);
  const scaled = (ticks) => (ticks === null || ticks < 0 ? ticks : (ticks * tick) / 1000);
  const spans = [...drawing.bands, ...drawing.scenes, ...drawing.scenes.flatMap((scene) => scene.spans)];
  for (const span of spans) [span.from, span.to] = [scaled(span.from), scaled(span.to)];
  for (const columns of [[ops, "from"], [ops, "to"], [accepted, "at"], [accepted, "earliest"], [accepted, "latest"]])
    columns[0][columns[1]] = columns[0][columns[1]].map(scaled);
  for (const hold of drawing.holds) for (const i of [0, 3, 4, 5]) hold[i] = scaled(hold[i]);
  drawing.length = scaled(drawing.length);
  return drawing;
}

/** The colours of the page's style, by name: light, dark or print. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "panel", "ink", "soft", "rule", "link", "lease", "lease-ink", "belief", "wait", "write",
    "read", "release", "stale", "refused", "pause", "pause-wash", "cut", "cut-wash", "commit", "stripe"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** A pattern for bands, so that they do not depend on color alone. */
function hatching(context, colour, slanted) {
  const tile = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  const size = Math.round(8 * ratio);
  tile.width = tile.height = size;
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = 1.4 * ratio;
  pen.globalAlpha = 0.55;
  pen.beginPath();
  if (slanted) {
    for (const shift of [-size, 0, size]) {
      pen.moveTo(shift - 1, size + 1);
      pen.lineTo(shift + size + 1, -1);
    }
  } else {
    pen.moveTo(0, size / 2);
    pen.lineTo(size, size / 2);
  }
  pen.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

/** Make a canvas as sharp as the screen; returns its pen, in CSS pixels. */
function sharpen(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}
