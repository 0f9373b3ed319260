"use strict";

/**
 * How time is laid out. Between its knots time runs evenly; a scene's long quiet
 * stretches get less room than their share, so that two seconds of waiting and
 * the two milliseconds that matter can be seen at once.
 */
class Scale {
  constructor(knots = [], shorten = false) {
    this.knots = shorten ? knots : [];
    const [first, last] = [knots[0], knots[knots.length - 1]];
    const gaps = this.knots.slice(1).map((knot, i) => knot - this.knots[i]);
    const inner = (i) => i > 0 && i < gaps.length - 1;
    const weights = gaps.map((gap, i) => Math.min(0.7 + Math.log1p(gap / 300), inner(i) ? Infinity : 2));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    let at = first;
    this.places = this.knots.map((_, i) => (i === 0 ? first : (at += (weights[i - 1] / total) * (last - first))));
  }

  to(moment) {
    return Scale.between(this.knots, this.places, moment);
  }

  from(place) {
    return Scale.between(this.places, this.knots, place);
  }

  static between(from, to, value) {
    const last = from.length - 1;
    if (last < 1 || value <= from[0] || value >= from[last]) return value;
    let [low, high] = [0, last];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (from[middle] <= value) low = middle;
      else high = middle;
    }
    return to[low] + ((value - from[low]) / (from[high] - from[low])) * (to[high] - to[low]);
  }
}

const OUTCOME = { OK: 0, REJECTED: 1, FAILED: 2, UNKNOWN: 3 };
const WORDS = ["ok", "rejected as stale", "refused", "unknown: no answer"];
const AXIS = 46;
const LANE = 62;
const STORE = 88;
const FEW = 12; // lanes that can be taken in at once
const MOST = 40;

/** The swimlane: clients from the top, the storage below them. */
class Swimlane {
  constructor(data, elements) {
    this.data = data;
    this.elements = elements;
    this.scene = null;
    this.resource = -1; // every resource
    this.shorten = true;
    this.everyone = false;
    this.current = -1; // the operation that the keyboard is at
    this.hits = [];
    this.scale = new Scale();
    this.view = { from: 0, to: Math.max(1, data.length) };
    const ops = data.operations;
    this.longest = ops.from.reduce((most, from, i) => Math.max(most, ops.to[i] - from), 0);
    this.isWrite = ops.kinds.map((kind) => ["write", "append", "fence"].includes(kind));
    this.stored = new Map(data.accepted.operation.map((operation, i) => [operation, i]));
    this.staleOnes = new Set(data.scenes.filter((scene) => scene.anomaly === "stale-write").map((scene) => scene.stale));
    this.density = this.countWrites();
    this.listen();
  }

  countWrites() {
    const slots = new Uint32Array(600);
    const { accepted, length } = this.data;
    for (const at of accepted.at) slots[Math.min(599, Math.floor((at / Math.max(1, length)) * 600))] += 1;
    return slots;
  }

  /* What is shown */

  showScene(scene) {
    this.scene = scene;
    this.resource = scene.resource;
    this.current = -1;
    this.hideTip();
    this.toScene();
  }

  toScene() {
    if (!this.scene) return this.toRun();
    const { from, to } = this.scene;
    this.scale = new Scale(this.knots(), this.shorten);
    this.view = { from: this.scale.to(from), to: this.scale.to(to) };
    this.draw();
  }

  toRun() {
    this.scale = new Scale();
    this.view = { from: 0, to: Math.max(1, this.data.length * 1.01) };
    this.draw();
  }

  /** The moments of a scene that must be told apart. */
  knots() {
    const { operations: ops, holds, bands } = this.data;
    const { from, to, proof, lanes, resource } = this.scene;
    const moments = [from, to];
    for (const i of proof.filter((i) => i >= 0)) moments.push(ops.from[i], ops.to[i]);
    for (const [granted, lane, of, leased] of holds)
      if (of === resource && lanes.includes(lane) && this.proves(granted, lane, leased)) moments.push(granted, leased);
    for (const band of bands)
      if (lanes.includes(band.lane)) moments.push(band.from, band.to ?? to);
    const inside = moments.filter((moment) => moment >= from && moment <= to).sort((a, b) => a - b);
    return inside.filter((moment, i) => i === 0 || moment - inside[i - 1] >= 1);
  }

  proves(granted, lane) {
    const { operations: ops, holds } = this.data;
    const hold = holds.find((hold) => hold[0] === granted && hold[1] === lane);
    return this.scene.proof.some((i) => i >= 0 && ops.lane[i] === lane && ops.token[i] === hold[6]);
  }

  zoom(factor, around = 0.5) {
    const { from, to } = this.view;
    const span = Math.min(Math.max((to - from) * factor, 50), Math.max(50, this.data.length * 1.2));
    const pivot = from + (to - from) * around;
    this.view = { from: pivot - span * around, to: pivot + span * (1 - around) };
    this.confine();
  }

  pan(share) {
    const span = this.view.to - this.view.from;
    this.view = { from: this.view.from + span * share, to: this.view.to + span * share };
    this.confine();
  }

  confine() {
    const span = this.view.to - this.view.from;
    const [least, most] = [-0.1 * span, this.data.length + 0.1 * span];
    if (span >= most - least) this.view = { from: least, to: least + span };
    else if (this.view.from < least) this.view = { from: least, to: least + span };
    else if (this.view.to > most) this.view = { from: most - span, to: most };
    this.draw();
  }

  lanes() {
    const all = this.data.lanes.map((_, lane) => lane);
    if (all.length <= FEW) return all;
    if (this.everyone || !this.scene) return all.slice(0, MOST);
    return this.scene.lanes;
  }

  stores() {
    return this.resource >= 0 ? [this.resource] : this.data.resources.map((_, i) => i).slice(0, FEW);
  }

  /* Drawing */

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.paint();
    });
  }

  paint() {
    const { canvas } = this.elements;
    this.width = canvas.parentElement.clientWidth;
    if (!this.width) return;
    this.gutter = this.width < 560 ? 74 : 112;
    this.shown = this.lanes();
    this.row = new Map(this.shown.map((lane, i) => [lane, AXIS + i * LANE]));
    this.shelves = new Map(this.stores().map((store, i) => [store, AXIS + this.shown.length * LANE + i * STORE]));
    this.height = AXIS + this.shown.length * LANE + this.shelves.size * STORE;
    this.pen = sharpen(canvas, this.width, this.height);
    this.colours = palette();
    this.hatch = {
      pause: hatching(this.pen, this.colours.pause, true),
      cut: hatching(this.pen, this.colours.cut, false),
    };
    this.hits = [];
    this.captions = [];
    this.paintGround();
    this.paintBands();
    this.paintHolds();
    this.paintOperations();
    this.paintStorage();
    this.paintCaptions();
    this.paintProof();
    this.paintGutter();
    this.paintAxis();
    this.paintCurrent();
    this.paintMap();
  }

  x(moment) {
    const { from, to } = this.view;
    return this.gutter + ((this.scale.to(moment) - from) / (to - from)) * (this.width - this.gutter);
  }

  moment(x) {
    const { from, to } = this.view;
    return this.scale.from(from + ((x - this.gutter) / (this.width - this.gutter)) * (to - from));
  }

  /** A bar's edges in pixels, cut to what can be seen; null if none of it can. */
  extent(from, to, least = 1) {
    const [left, right] = [this.x(from), this.x(to)];
    if (right < this.gutter - 20 || left > this.width + 20) return null;
    const start = Math.max(left, this.gutter - 20);
    return [start, Math.max(Math.min(right, this.width + 20) - start, least)];
  }

  text(words, x, y, { colour = "ink", size = 13, weight = 400, align = "left", room = Infinity } = {}) {
    const { pen } = this;
    pen.font = `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif`;
    pen.fillStyle = this.colours[colour];
    pen.textAlign = align;
    pen.textBaseline = "middle";
    const wide = pen.measureText(words).width;
    if (wide > room) return 0;
    pen.fillText(words, x, y);
    return wide;
  }

  /** Words on a patch of paper, so that what is beneath does not run into them. */
  label(words, x, y, options = {}) {
    const { pen } = this;
    const { size = 13, weight = 400, align = "left" } = options;
    pen.font = `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif`;
    const wide = pen.measureText(words).width;
    const left = align === "left" ? x : align === "right" ? x - wide : x - wide / 2;
    const start = Math.min(Math.max(left, this.gutter + 6), this.width - wide - 6);
    pen.fillStyle = this.colours.paper;
    pen.globalAlpha = 0.88;
    pen.fillRect(start - 4, y - size * 0.72, wide + 8, size * 1.44);
    pen.globalAlpha = 1;
    this.text(words, start, y, { ...options, align: "left" });
  }

  strength(resource) {
    return this.resource < 0 || resource === this.resource ? 1 : 0.16;
  }

  paintGround() {
    const { pen, colours } = this;
    pen.globalAlpha = 1;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, this.width, this.height);
    pen.fillStyle = colours.stripe;
    this.shown.forEach((_, i) => i % 2 && pen.fillRect(0, AXIS + i * LANE, this.width, LANE));
    pen.fillStyle = colours.panel;
    const below = AXIS + this.shown.length * LANE;
    pen.fillRect(0, below, this.width, this.height - below);
    pen.fillStyle = colours.rule;
    for (const top of [...this.row.values(), ...this.shelves.values()]) pen.fillRect(0, top, this.width, 1);
    for (const knot of this.scale.knots) pen.fillRect(this.x(knot), AXIS, 1, this.height);
  }

  paintBands() {
    const { pen, colours } = this;
    this.data.bands.forEach((band, i) => {
      const end = band.to ?? this.data.length;
      const extent = this.extent(band.from, end, 2);
      const top = band.lane === null ? AXIS : this.row.get(band.lane);
      if (!extent || top === undefined) return;
      const [left, wide] = extent;
      const high = band.lane === null ? this.height - AXIS : LANE;
      const kind = band.kind === "pause" ? "pause" : "cut";
      pen.fillStyle = colours[`${kind}-wash`];
      pen.fillRect(left, top, wide, high);
      pen.fillStyle = this.hatch[kind];
      pen.fillRect(left, top, wide, high);
      pen.fillStyle = colours[kind];
      pen.fillRect(left, top, 1.5, high);
      if (band.to !== null) pen.fillRect(left + wide - 1.5, top, 1.5, high);
      if (wide > 120) {
        const middle = (Math.max(left, this.gutter) + Math.min(left + wide, this.width)) / 2;
        const what = band.kind === "pause" ? "paused" : band.lane === null ? `${band.kind} of ${band.target}` : band.kind;
        this.captions.push([`${what} ${format.duration(end - band.from)}`, middle, top + 43, kind]);
      }
      this.hits.push({ left, right: left + wide, top, bottom: top + high, band: i });
    });
  }

  /** What the bands are, above whatever was drawn on them. */
  paintCaptions() {
    for (const [words, x, y, colour] of this.captions) this.label(words, x, y, { colour, weight: 600, align: "center" });
  }

  paintHolds() {
    const { pen, colours } = this;
    const edge = new Map();
    this.data.holds.forEach((hold, i) => {
      const [granted, lane, resource, leased, believed, , token] = hold;
      const top = this.row.get(lane);
      if (top === undefined) return;
      const until = Math.max(leased, believed);
      const whole = this.extent(granted, until, 2);
      if (!whole) return;
      if (whole[1] <= 2 && whole[0] - (edge.get(lane) ?? -9) < 1.5) return;
      edge.set(lane, whole[0]);
      pen.globalAlpha = this.strength(resource);
      const bar = this.extent(granted, leased, 2);
      if (bar) this.paintLease(bar, top, token, leased, resource);
      const belief = believed > leased ? this.extent(leased, believed, 1) : null;
      if (belief) {
        pen.strokeStyle = colours.belief;
        pen.lineWidth = 2.5;
        pen.setLineDash([5, 4]);
        pen.beginPath();
        pen.moveTo(belief[0], top + 16);
        pen.lineTo(belief[0] + belief[1], top + 16);
        pen.stroke();
        pen.setLineDash([]);
      }
      pen.globalAlpha = 1;
      this.hits.push({ left: whole[0], right: whole[0] + whole[1], top: top + 7, bottom: top + 26, hold: i });
    });
  }

  paintLease([left, wide], top, token, leased, resource) {
    const { pen, colours } = this;
    pen.fillStyle = colours.lease;
    pen.fillRect(left, top + 7, wide, 18);
    pen.fillStyle = colours.belief;
    pen.fillRect(left, top + 7, Math.min(1.5, wide), 18);
    if (wide > 3) pen.fillRect(left + wide - 1.5, top + 7, 1.5, 18);
    const shown = Math.max(left, this.gutter) + 7;
    const room = Math.min(left + wide, this.width) - shown - 5;
    if (token < 0 || room < 12 || this.strength(resource) < 1) return;
    const options = { colour: "lease-ink", weight: 600, room };
    if (!this.text(`token ${token}`, shown, top + 16.5, options)) this.text(`${token}`, shown, top + 16.5, options);
  }

  /** The first operation that may still be open at the left edge. */
  first(moment) {
    const { from } = this.data.operations;
    let [low, high] = [0, from.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (from[middle] < moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  paintOperations() {
    const { operations: ops } = this.data;
    const [start, end] = [this.moment(this.gutter), this.moment(this.width)];
    const drawn = new Map();
    for (let i = this.first(start - this.longest); i < ops.from.length && ops.from[i] <= end; i += 1) {
      const top = this.row.get(ops.lane[i]);
      if (top === undefined || ops.to[i] < start) continue;
      const extent = this.extent(ops.from[i], ops.to[i], 1.5);
      if (!extent) continue;
      const key = ops.lane[i] * 64 + ops.kind[i] * 4 + ops.outcome[i];
      const right = extent[0] + extent[1];
      if (right - (drawn.get(key) ?? -9) < 1) continue; // another bar stands there already
      drawn.set(key, right);
      this.paintOperation(i, top, extent);
    }
    this.pen.globalAlpha = 1;
  }

  paintOperation(i, top, [left, wide]) {
    const { pen, colours } = this;
    const { operations: ops } = this.data;
    const kind = ops.kinds[ops.kind[i]];
    const outcome = ops.outcome[i];
    pen.globalAlpha = this.strength(ops.resource[i]);
    if (kind === "renew") {
      pen.fillStyle = outcome === OUTCOME.OK ? colours.belief : colours.refused;
      pen.fillRect(left, top + 25, Math.max(wide, 2), 4);
      return;
    }
    const [y, high] = { acquire: [41, 5], release: [38, 11], revoke: [38, 11] }[kind] ?? [34, 19];
    const colour = this.isWrite[ops.kind[i]] ? "write" : kind === "read" ? "read" : kind === "acquire" ? "wait" : "release";
    this.bar(left, top + y, wide, high, colours[colour], outcome, kind === "read");
    this.hits.push({ left, right: left + wide, top: top + 30, bottom: top + 58, operation: i });
  }

  bar(left, y, wide, high, colour, outcome, hollow) {
    const { pen, colours } = this;
    if (outcome === OUTCOME.REJECTED || outcome === OUTCOME.FAILED) {
      pen.strokeStyle = colours.refused;
      pen.lineWidth = 2;
      if (wide < 4) {
        pen.fillStyle = colours.refused;
        pen.fillRect(left, y, wide, high);
        return;
      }
      pen.strokeRect(left + 1, y + 1, wide - 2, high - 2);
      pen.beginPath();
      pen.moveTo(left + 1, y + high - 1);
      pen.lineTo(left + wide - 1, y + 1);
      pen.stroke();
      return;
    }
    if (outcome === OUTCOME.UNKNOWN) {
      const fade = pen.createLinearGradient(left, 0, left + Math.max(wide, 14), 0);
      fade.addColorStop(0, colour);
      fade.addColorStop(1, "transparent");
      pen.fillStyle = fade;
      pen.fillRect(left, y, Math.max(wide, 14), high);
      pen.fillStyle = colour;
      pen.fillRect(left, y, 2, high);
      return;
    }
    if (hollow && wide > 4) {
      pen.strokeStyle = colour;
      pen.lineWidth = 2;
      pen.strokeRect(left + 1, y + 1, wide - 2, high - 2);
      return;
    }
    pen.fillStyle = colour;
    pen.fillRect(left, y, wide, high);
  }

  /* The storage's lane */

  baseline(resource) {
    const top = this.shelves.get(resource);
    return top === undefined ? undefined : top + 52;
  }

  paintStorage() {
    const { accepted } = this.data;
    const { pen, colours } = this;
    for (const [resource] of this.shelves) {
      pen.fillStyle = colours.soft;
      pen.fillRect(this.gutter, this.baseline(resource) - 0.5, this.width, 1);
    }
    const [start, end] = [this.moment(this.gutter), this.moment(this.width)];
    const marks = new Map();
    const labels = new Map();
    for (let i = 0; i < accepted.at.length; i += 1) {
      if (accepted.at[i] < start || accepted.at[i] > end) continue;
      const y = this.baseline(accepted.resource[i]);
      if (y === undefined) continue;
      const x = this.x(accepted.at[i]);
      const stale = this.staleOnes.has(accepted.operation[i]);
      if (!stale && x - (marks.get(y) ?? -9) < 1) continue;
      marks.set(y, x);
      this.diamond(x, y, stale ? 8 : 5, stale ? colours.stale : colours.commit);
      this.hits.push({ left: x - 6, right: x + 6, top: y - 9, bottom: y + 9, accepted: i });
      const words = `${accepted.token[i] ?? "none"}`;
      if (x - (labels.get(y) ?? -99) > 12 + 8 * words.length) {
        this.text(words, x, y + 19, { align: "center", size: 12, colour: stale ? "stale" : "soft", weight: stale ? 700 : 400 });
        labels.set(y, x);
      }
      if (stale && !this.isScene(accepted.operation[i])) this.ring(x, y);
    }
    this.paintRefusals(start, end);
  }

  paintRefusals(start, end) {
    const { operations: ops } = this.data;
    let edge = -9;
    for (let i = this.first(start - this.longest); i < ops.from.length && ops.from[i] <= end; i += 1) {
      if (ops.outcome[i] !== OUTCOME.REJECTED || !this.isWrite[ops.kind[i]]) continue;
      const y = this.baseline(ops.resource[i]);
      const x = this.x(ops.to[i]);
      if (y === undefined || x < this.gutter || x - edge < 1) continue;
      edge = x;
      this.cross(x, y - 16);
      this.hits.push({ left: x - 7, right: x + 7, top: y - 24, bottom: y - 8, operation: i });
    }
  }

  isScene(operation) {
    return this.scene !== null && operation >= 0 && operation === this.scene.stale;
  }

  diamond(x, y, size, colour) {
    const { pen } = this;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.moveTo(x, y - size);
    pen.lineTo(x + size, y);
    pen.lineTo(x, y + size);
    pen.lineTo(x - size, y);
    pen.fill();
  }

  ring(x, y, size = 13) {
    const { pen } = this;
    pen.strokeStyle = this.colours.stale;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, size, 0, 7);
    pen.stroke();
  }

  cross(x, y) {
    const { pen } = this;
    pen.strokeStyle = this.colours.refused;
    pen.lineWidth = 3;
    pen.beginPath();
    pen.moveTo(x - 5, y - 5);
    pen.lineTo(x + 5, y + 5);
    pen.moveTo(x + 5, y - 5);
    pen.lineTo(x - 5, y + 5);
    pen.stroke();
  }

  /* What the scene is about */

  paintProof() {
    if (!this.scene) return;
    this.scene.proof.forEach((operation, i) => operation >= 0 && this.paintStep(operation, i + 1));
    const [newer, stale] = [this.mark(this.scene.newer), this.mark(this.scene.stale)];
    if (!stale) return;
    const { operations: ops } = this.data;
    const token = ops.token[this.scene.stale];
    if (ops.outcome[this.scene.stale] === OUTCOME.REJECTED) {
      this.label(`token ${token} refused`, stale.x + 12, stale.y, { colour: "refused", weight: 700 });
      if (newer) this.label(`token ${ops.token[this.scene.newer]}`, newer.x - 12, newer.y - 15, { weight: 700, align: "right" });
      return;
    }
    this.ring(stale.x, stale.y);
    if (newer) this.arrow(newer, stale);
    const words = newer ? `token ${ops.token[this.scene.newer]}` : "";
    if (newer) this.label(words, newer.x - 14, newer.y - 15, { weight: 700, align: "right" });
    this.label(`STALE: token ${token}`, stale.x + 18, stale.y - 15, { colour: "stale", weight: 700 });
  }

  /** Where an operation left its mark in the storage's lane. */
  mark(operation) {
    if (operation < 0) return null;
    const { operations: ops, accepted } = this.data;
    const y = this.baseline(ops.resource[operation]);
    if (y === undefined) return null;
    const stored = this.stored.get(operation);
    if (stored !== undefined) return { x: this.x(accepted.at[stored]), y };
    return { x: this.x(ops.to[operation]), y: y - 16 };
  }

  paintStep(operation, number) {
    const { operations: ops } = this.data;
    const { pen, colours } = this;
    const top = this.row.get(ops.lane[operation]);
    const extent = this.extent(ops.from[operation], ops.to[operation], 6);
    if (top === undefined || !extent) return;
    const [left, wide] = extent;
    const stale = operation === this.scene.stale;
    const refused = ops.outcome[operation] === OUTCOME.REJECTED;
    const colour = stale ? (refused ? colours.refused : colours.stale) : colours.ink;
    const mark = this.isWrite[ops.kind[operation]] ? this.mark(operation) : null;
    if (mark) {
      pen.strokeStyle = colour;
      pen.lineWidth = 1.5;
      pen.setLineDash([2, 3]);
      pen.beginPath();
      pen.moveTo(left + wide / 2, top + 56);
      pen.lineTo(mark.x, mark.y - 9);
      pen.stroke();
      pen.setLineDash([]);
    }
    if (stale && !refused) {
      pen.fillStyle = colours.stale;
      pen.fillRect(left, top + 34, wide, 19);
    }
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.strokeRect(left - 3, top + 31, wide + 6, 25);
    const granted = ops.kinds[ops.kind[operation]] === "acquire"; // what counts is its end
    const [x, y] = [granted ? left + wide : left + wide / 2, wide > 21 || granted ? top + 43.5 : top + 26];
    pen.fillStyle = colours.paper;
    pen.beginPath();
    pen.arc(x, y, 10.5, 0, 7);
    pen.fill();
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(x, y, 9, 0, 7);
    pen.fill();
    this.text(`${number}`, x, y + 0.5, { colour: "paper", size: 12, weight: 700, align: "center" });
  }

  arrow(from, to) {
    const { pen, colours } = this;
    const away = Math.abs(to.x - from.x);
    if (away < 26) return; // too close for it to say anything
    const [x0, x1] = [from.x, to.x > from.x ? to.x - 10 : to.x + 10];
    const y = to.y + 11;
    pen.strokeStyle = pen.fillStyle = colours.stale;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x0, from.y + 7);
    pen.quadraticCurveTo((x0 + x1) / 2, y + Math.min(26, 10 + away / 6), x1, y);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x1 + 2, y - 3);
    pen.lineTo(x1 - 8, y - 0.5);
    pen.lineTo(x1 - 2, y + 8);
    pen.fill();
  }

  paintGutter() {
    const { pen, colours } = this;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, this.gutter, this.height);
    const below = AXIS + this.shown.length * LANE;
    pen.fillStyle = colours.panel;
    pen.fillRect(0, below, this.gutter, this.height - below);
    pen.fillStyle = colours.rule;
    pen.fillRect(this.gutter - 1, 0, 1, this.height);
    for (const top of [...this.row.values(), ...this.shelves.values()]) pen.fillRect(0, top, this.gutter, 1);
    const inset = this.width < 560 ? 8 : 16;
    const small = this.width < 560 ? 12.5 : 14;
    for (const [lane, top] of this.row) {
      const plays = this.scene?.lanes.includes(lane);
      this.text(this.data.lanes[lane], inset, top + LANE / 2, { weight: plays ? 700 : 400, size: small });
    }
    for (const [resource, top] of this.shelves) {
      this.text("storage", inset, top + 36, { weight: 700, size: small });
      this.text(this.data.resources[resource].slice(0, 14), inset, top + 54, { colour: "soft", size: small - 1 });
    }
  }

  /* Time */

  paintAxis() {
    const { pen, colours } = this;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, this.width, AXIS);
    pen.fillStyle = colours.rule;
    pen.fillRect(0, AXIS - 1, this.width, 1);
    this.text("time", this.width < 560 ? 8 : 16, AXIS / 2, { colour: "soft", size: 13 });
    if (this.scale.knots.length > 1) this.paintStretches();
    else this.paintTicks();
  }

  /** Evenly spaced moments. */
  paintTicks() {
    const { pen, colours } = this;
    const wanted = ((this.view.to - this.view.from) * 110) / (this.width - this.gutter);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted);
    for (let tick = Math.ceil(this.view.from / step) * step; tick <= this.view.to; tick += step) {
      const x = this.x(tick);
      if (tick < 0 || x < this.gutter) continue;
      pen.fillStyle = colours.rule;
      pen.fillRect(x, AXIS - 9, 1, 9);
      if (x > this.gutter + 24) this.text(format.moment(tick, step), x, AXIS - 22, { colour: "soft", align: "center", size: 12.5 });
    }
  }

  /** How long each stretch between two of a scene's moments lasted. */
  paintStretches() {
    const { pen, colours } = this;
    const { knots } = this.scale;
    const xs = knots.map((knot) => this.x(knot));
    const pace = (knots[knots.length - 1] - knots[0]) / (xs[xs.length - 1] - xs[0]);
    knots.forEach((knot, i) => {
      if (xs[i] >= this.gutter) {
        pen.fillStyle = colours.rule;
        pen.fillRect(xs[i], AXIS - 16, 1, 16);
      }
      if (i === 0) return;
      const [left, right] = [Math.max(xs[i - 1], this.gutter), Math.min(xs[i], this.width)];
      const [gap, room] = [knot - knots[i - 1], right - left];
      if (room < 30) return;
      const shortened = gap / (xs[i] - xs[i - 1]) > 1.6 * pace;
      const wide = this.text(format.duration(gap), (left + right) / 2, AXIS - 10, { align: "center", size: 12, room: room - 6, colour: shortened ? "ink" : "soft", weight: shortened ? 600 : 400 });
      if (shortened && wide && room > wide + 50) for (const side of [-1, 1]) this.zigzag((left + right) / 2 + side * (wide / 2 + 14), AXIS - 10);
    });
    this.paintMoments(xs);
  }

  paintMoments(xs) {
    const { knots } = this.scale;
    let edge = this.gutter;
    knots.forEach((knot, i) => {
      const words = format.moment(knot, 1000);
      const half = words.length * 3.6;
      const x = Math.min(Math.max(xs[i], this.gutter + half + 4), this.width - half - 4);
      if (xs[i] < this.gutter - 1 || xs[i] > this.width + 1 || x - half < edge + 6) return;
      this.text(words, x, 13, { colour: "soft", align: "center", size: 12 });
      edge = x + half;
    });
  }

  zigzag(x, y) {
    const { pen } = this;
    pen.strokeStyle = this.colours.soft;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const shift of [-3, 3]) {
      pen.moveTo(x + shift - 3, y + 6);
      pen.lineTo(x + shift + 3, y - 6);
    }
    pen.stroke();
  }

  paintCurrent() {
    const hit = this.hits.find((hit) => hit.operation === this.current);
    if (this.current < 0 || !hit) return;
    this.pen.strokeStyle = this.colours.link;
    this.pen.lineWidth = 3;
    this.pen.strokeRect(hit.left - 4, hit.top - 1, hit.right - hit.left + 8, hit.bottom - hit.top + 2);
  }

  /** The whole run in one strip: writes, faults, scenes, and what is in view. */
  paintMap() {
    const { map } = this.elements;
    const [width, height] = [this.width, 44];
    const pen = sharpen(map, width, height);
    const { colours } = this;
    const x = (moment) => this.gutter + (moment / Math.max(1, this.data.length)) * (width - this.gutter);
    pen.fillStyle = colours.panel;
    pen.fillRect(0, 0, width, height);
    for (const band of this.data.bands) {
      pen.fillStyle = band.kind === "pause" ? colours["pause-wash"] : colours["cut-wash"];
      pen.fillRect(x(band.from), 0, Math.max(1, x(band.to ?? this.data.length) - x(band.from)), height);
    }
    const most = Math.max(1, ...this.density);
    pen.fillStyle = colours.wait;
    this.density.forEach((count, i) => {
      const high = (count / most) * 20;
      pen.fillRect(this.gutter + (i / 600) * (width - this.gutter), height - high, (width - this.gutter) / 600 + 0.3, high);
    });
    for (const scene of this.data.scenes) {
      const operation = scene.stale >= 0 ? scene.stale : scene.proof[0];
      pen.fillStyle = scene.anomaly === "stale write rejected" ? colours.refused : colours.stale;
      pen.fillRect(x(operation >= 0 ? this.data.operations.to[operation] : scene.from) - 1, 6, 2.5, height - 6);
    }
    const [from, to] = [this.moment(this.gutter), this.moment(this.width)];
    const [left, right] = [Math.max(this.gutter, x(from)), Math.min(width, x(to))];
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 2;
    pen.strokeRect(left, 1, Math.max(4, right - left) - 1, height - 2);
    pen.font = "12.5px system-ui, sans-serif";
    pen.fillStyle = colours.soft;
    pen.textBaseline = "middle";
    pen.fillText("whole run", this.width < 560 ? 8 : 16, height / 2);
  }

  /* Details */

  at(x, y) {
    for (let i = this.hits.length - 1, best = null, nearest = 6; i >= -1; i -= 1) {
      if (i < 0) return best;
      const hit = this.hits[i];
      if (y < hit.top || y > hit.bottom) continue;
      const away = Math.max(hit.left - x, x - hit.right, 0) + (hit.band !== undefined ? 5 : hit.hold !== undefined ? 1 : 0);
      if (away < nearest) [best, nearest] = [hit, away];
    }
    return null;
  }

  details(hit) {
    if (hit.operation !== undefined) return this.operationDetails(hit.operation);
    if (hit.accepted !== undefined) return this.acceptedDetails(hit.accepted);
    if (hit.hold !== undefined) return this.holdDetails(hit.hold);
    return this.bandDetails(hit.band);
  }

  operationDetails(i) {
    const { operations: ops, lanes, resources } = this.data;
    const kind = ops.kinds[ops.kind[i]];
    const value = kind === "write" || kind === "append" ? ` ${ops.value[i] ?? ""}` : "";
    const answer = kind === "acquire" && ops.outcome[i] === 0 ? `granted, token ${ops.token[i]}`
      : kind === "read" && ops.outcome[i] === 0 ? `read ${ops.value[i] ?? "nothing"}` : WORDS[ops.outcome[i]];
    const token = kind !== "acquire" && ops.token[i] !== null ? `, token ${ops.token[i]}` : "";
    const why = ops.error[i] && ops.error[i] !== "stale" ? ` (${ops.error[i]})` : "";
    return [
      `${lanes[ops.lane[i]]}: ${kind}${value} on ${resources[ops.resource[i]]}${token}`,
      `${answer}${why}${this.staleOnes.has(i) ? ", although stale" : ""}`,
      `${format.moment(ops.from[i], 10)}, took ${format.duration(ops.to[i] - ops.from[i])}`,
      `process ${ops.process[i]}; history.jsonl line ${ops.call[i]}${ops.answer[i] ? ` and ${ops.answer[i]}` : ""}`,
    ];
  }

  acceptedDetails(i) {
    const { accepted, resources } = this.data;
    const who = accepted.operation[i] >= 0 ? this.data.lanes[this.data.operations.lane[accepted.operation[i]]] : "nobody known";
    const span = accepted.latest[i] - accepted.earliest[i];
    return [
      `storage accepted ${accepted.value[i] ?? ""} on ${resources[accepted.resource[i]] ?? ""}, token ${accepted.token[i] ?? "none"}`,
      this.staleOnes.has(accepted.operation[i]) ? "stale: a higher token stood there already" : `from ${who}`,
      accepted.seq[i] === null ? "as its client saw it" : `number ${accepted.seq[i]} in the storage's own order`,
      `between ${format.moment(accepted.earliest[i], 10)} and ${format.duration(span)} later`,
    ];
  }

  holdDetails(i) {
    const [granted, lane, resource, leased, believed, promised, token, renewals, owner] = this.data.holds[i];
    const lines = [`${this.data.lanes[lane]} holds ${this.data.resources[resource]} with token ${token}`,
      `granted at ${format.moment(granted, 1000)}, owner ${owner}`];
    if (promised >= 0) lines.push(`lease promised until ${format.moment(promised, 1000)}, ${renewals} renewals`);
    if (believed > leased) lines.push(`believed in it for ${format.duration(believed - leased)} after the lease was over`);
    return lines;
  }

  bandDetails(i) {
    const band = this.data.bands[i];
    const lasted = band.to === null ? "never seen healed" : `lasted ${format.duration(band.to - band.from)}`;
    return [`${band.kind} of ${band.target}`, `from ${format.moment(band.from, 1000)}, ${lasted}`,
      band.evidence && `seen: ${band.evidence}`, band.healed && `healed: ${band.healed}`].filter(Boolean);
  }

  showTip(hit, x, y) {
    const { tip } = this.elements;
    const [title, ...lines] = this.details(hit);
    const bold = document.createElement("b");
    bold.textContent = title;
    tip.replaceChildren(bold, ...lines.map((line) => Object.assign(document.createElement("span"), { textContent: line })));
    tip.hidden = false;
    const left = Math.min(Math.max(4, x + 14), this.width - tip.offsetWidth - 4);
    const above = y + 18 + tip.offsetHeight > this.height;
    tip.style.left = `${left}px`;
    tip.style.top = `${above ? Math.max(2, y - tip.offsetHeight - 12) : y + 18}px`;
    return [title, ...lines].join(". ");
  }

  hideTip() {
    this.elements.tip.hidden = true;
  }

  /** Step to the next or previous operation of what is in focus, and tell it. */
  step(way) {
    const { operations: ops } = this.data;
    let i = this.current < 0 ? this.first(this.moment(this.gutter)) - (way > 0 ? 1 : 0) : this.current;
    do i += way;
    while (i >= 0 && i < ops.from.length && !this.steppable(i));
    if (i < 0 || i >= ops.from.length) return;
    this.current = i;
    const place = this.scale.to(ops.from[i]);
    const span = this.view.to - this.view.from;
    if (place < this.view.from || place > this.view.to) this.view = { from: place - span / 2, to: place + span / 2 };
    this.paint();
    const hit = this.hits.find((hit) => hit.operation === i) ?? { operation: i, left: this.x(ops.from[i]), bottom: AXIS + 30 };
    this.elements.spoken.textContent = this.showTip({ operation: i }, hit.left, hit.bottom - 10);
  }

  steppable(i) {
    const { operations: ops } = this.data;
    const wanted = this.resource < 0 || ops.resource[i] === this.resource;
    return wanted && ops.kinds[ops.kind[i]] !== "renew" && this.row.has(ops.lane[i]);
  }

  /* Input */

  listen() {
    const { canvas, map } = this.elements;
    this.pointers = new Map();
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.hideTip());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    const jump = (event) => event.buttons && this.jump(event.offsetX);
    map.addEventListener("pointerdown", jump);
    map.addEventListener("pointermove", jump);
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", () => this.paint());
  }

  press(event) {
    this.elements.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event.offsetX);
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) return this.hover(event);
    const room = this.width - this.gutter;
    if (this.pointers.size === 1) {
      this.hideTip();
      this.pan((before - event.offsetX) / room);
    } else {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const factor = Math.abs(before - other) / Math.max(8, Math.abs(event.offsetX - other));
      this.zoom(factor, (other - this.gutter) / room);
    }
    this.pointers.set(event.pointerId, event.offsetX);
  }

  hover(event) {
    const hit = event.offsetX < this.gutter ? null : this.at(event.offsetX, event.offsetY);
    if (hit) this.showTip(hit, event.offsetX, event.offsetY);
    else this.hideTip();
  }

  wheel(event) {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (!event.ctrlKey && !event.metaKey && !sideways) return; // the page scrolls
    event.preventDefault();
    if (sideways) this.pan((event.deltaX || event.deltaY) / this.width);
    else this.zoom(1.0018 ** event.deltaY, (event.offsetX - this.gutter) / (this.width - this.gutter));
  }

  jump(x) {
    const middle = this.scale.to(((x - this.gutter) / (this.width - this.gutter)) * this.data.length);
    const span = this.view.to - this.view.from;
    this.view = { from: middle - span / 2, to: middle + span / 2 };
    this.confine();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      ArrowRight: () => (event.shiftKey ? this.pan(0.2) : this.step(1)),
      ArrowLeft: () => (event.shiftKey ? this.pan(-0.2) : this.step(-1)),
      "+": () => this.zoom(1 / 1.5),
      "=": () => this.zoom(1 / 1.5),
      "-": () => this.zoom(1.5),
      Home: () => this.toScene(),
      End: () => this.toRun(),
      Escape: () => this.hideTip(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}
