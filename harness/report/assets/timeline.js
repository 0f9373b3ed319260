"use strict";

const OUTCOME = { OK: 0, REJECTED: 1, FAILED: 2, UNKNOWN: 3 };
const WORDS = ["ok", "refused as stale", "refused", "unknown"];
const HOLD = { GRANTED: 0, LANE: 1, RESOURCE: 2, LEASED: 3, BELIEVED: 4, PROMISED: 5, TOKEN: 6, RENEWALS: 7, OWNER: 8, GRANT: 9 };
const SIZES = { axis: 40, leases: 20, words: 16, lane: 54, store: 60, server: 28 };
const FEW = 12; // lanes that can be taken in at once
const MOST = 40;
const STORAGE = -1; // beside the numbers of the clients' lanes

/** The swimlane: the lock on top, then clients, the storage, and servers with their faults. */
class Swimlane {
  constructor(data, elements) {
    this.data = data;
    this.elements = elements;
    this.scene = null;
    this.resource = -1; // every resource
    this.shorten = true;
    this.everyone = false;
    this.current = -1; // the operation that the keyboard is at
    this.lit = new Set(); // the steps that are pointed at
    this.onLight = () => {};
    this.onChoose = () => {};
    this.hits = [];
    this.scale = new Scale();
    this.view = { from: 0, to: Math.max(1, data.length) };
    const ops = data.operations;
    this.unseen = new Set(ops.waiting);
    this.longest = ops.from.reduce((most, from, i) => Math.max(most, ops.to[i] - from), 0);
    this.isWrite = ops.kinds.map((kind) => ["write", "append", "fence"].includes(kind));
    const isOfQueue = ops.kinds.map((kind) => ["submit", "take", "execute", "heartbeat"].includes(kind));
    this.queues = new Set(ops.resource.filter((_, i) => isOfQueue[ops.kind[i]])); // where there are some, no lock is recorded
    this.stored = new Map();
    data.accepted.operation.forEach((operation, i) => this.stored.set(operation, [...(operation < 0 ? [] : this.stored.get(operation) ?? []), i]));
    this.wrong = new Set(data.scenes.filter((scene) => scene.wrong).flatMap((scene) => scene.accused));
    this.unmatched = new Set(data.scenes.flatMap((scene) => scene.unmatched));
    this.density = this.countWrites();
    this.roles();
    this.listen();
  }

  countWrites() {
    const slots = new Uint32Array(600);
    const { accepted, length } = this.data;
    for (const at of accepted.at) slots[Math.min(599, Math.floor((at / Math.max(1, length)) * 600))] += 1;
    return slots;
  }

  /** What the scene's operations and faults are in it. */
  roles() {
    const scene = this.scene ?? { accused: [], against: [], proof: [], badges: [], wrong: false };
    this.accused = new Set(scene.accused);
    this.against = new Set(scene.against);
    this.badges = new Map(scene.badges.filter((badge) => "operation" in badge).map((badge) => [badge.operation, badge]));
    this.hurt = new Map(scene.badges.filter((badge) => "band" in badge).map((badge) => [badge.band, badge]));
    this.actors = [...new Set([...scene.proof, ...this.badges.keys()])];
    this.alarm = scene.wrong ? "stale" : "refused";
  }

  /* What is shown */

  showScene(scene) {
    this.scene = scene;
    this.resource = scene.resource;
    this.current = -1;
    this.lit = new Set();
    this.hideTip();
    this.roles();
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

  /** The moments of a scene that must not overlap. */
  knots() {
    const { operations: ops, holds, bands, accepted } = this.data;
    const { from, to, resource, spans } = this.scene;
    const moments = [from, to, ...spans.flatMap((span) => [span.from, span.to])];
    for (const i of this.actors) {
      if (!this.isGrant(i)) moments.push(ops.from[i]);
      moments.push(ops.to[i], ...(this.stored.get(i) ?? []).map((place) => accepted.at[place]));
    }
    for (const hold of holds)
      if (hold[HOLD.RESOURCE] === resource && this.playedBy(hold)) moments.push(hold[HOLD.GRANTED], hold[HOLD.LEASED]);
    bands.forEach((band, i) => {
      if (this.hurt.has(i) || this.scene.lanes.includes(band.lane)) moments.push(band.from, band.to ?? to);
    });
    const inside = moments.filter((moment) => moment >= from && moment <= to).sort((a, b) => a - b);
    const least = (to - from) / 1e6;
    return inside.filter((moment, i) => i === 0 || moment - inside[i - 1] > least);
  }

  isGrant(i) {
    const { operations: ops } = this.data;
    return ops.kinds[ops.kind[i]] === "acquire" && ops.outcome[i] === OUTCOME.OK;
  }

  /** Was something of the scene done under this hold? */
  playedBy(hold) {
    return this.scene.holds.includes(hold[HOLD.GRANT]);
  }

  zoom(factor, around = 0.5) {
    const { from, to } = this.view;
    const least = Math.max(1e-3, this.data.length / 1e7);
    const span = Math.min(Math.max((to - from) * factor, least), Math.max(least, this.data.length * 1.2));
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

  /** The clients to show: those of the scene, unless all are asked for. */
  lanes() {
    const all = this.data.lanes.map((_, lane) => lane).slice(0, MOST);
    const whole = this.everyone || !this.scene || this.scene.lanes.length === 0 || this.resource !== this.scene.resource;
    return whole ? all : this.scene.lanes;
  }

  stores() {
    return this.resource >= 0 ? [this.resource] : this.data.resources.map((_, i) => i).slice(0, FEW);
  }

  servers() {
    const [from, to] = [this.moment(this.gutter), this.moment(this.width)];
    const hit = (band) => band.server !== null && band.from <= to && (band.to ?? this.data.length) >= from;
    return [...new Set(this.data.bands.filter(hit).map((band) => band.server))].sort((a, b) => a - b).slice(0, FEW);
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
    const width = this.elements.canvas.parentElement.clientWidth;
    if (!width) return;
    this.paintOn(this.elements.canvas, width);
    this.paintMap();
    this.placeMarks();
  }

  paintOn(canvas, width) {
    this.width = width;
    this.gutter = width < 560 ? 74 : 112;
    this.roomy = new Set(); // lanes with a line for words that have no room elsewhere
    let before;
    do {
      before = this.roomy.size;
      this.paintAll(canvas);
      this.roomy = new Set([...this.roomy, ...this.cramped]);
    } while (this.roomy.size > before);
  }

  paintAll(canvas) {
    this.lay();
    this.pen = sharpen(canvas, this.width, this.height);
    this.colours = palette();
    this.hatch = {
      pause: hatching(this.pen, this.colours.pause, true),
      cut: hatching(this.pen, this.colours.cut, false),
      alarm: hatching(this.pen, this.colours.stale, true),
    };
    this.hits = [];
    this.captions = [];
    this.spots = new Map(); // of the badges
    this.taken = []; // by all that is drawn: no words go there
    this.cramped = new Set(); // lanes without room for their words
    this.takeThreads();
    this.paintGround();
    this.paintBands();
    this.paintLocks();
    this.paintHolds();
    this.paintOperations();
    this.paintStorage();
    this.placeBadges();
    this.paintProof();
    this.paintLabels();
    this.paintGutter();
    this.paintAxis();
    this.paintMarks();
    this.paintCurrent();
  }

  /** Where each lane begins, from the top. */
  lay() {
    let top = SIZES.axis;
    this.tops = [];
    const row = (high) => {
      this.tops.push(top);
      return (top += high) - high;
    };
    this.shown = this.lanes();
    const [stored, locked] = [this.stores().filter((store) => !this.queues.has(store)), this.queues.size ? [] : this.stores()];
    this.stacks = new Map(locked.map((store) => [store, this.stacked(store)]));
    this.locks = new Map([...this.stacks].map(([store, { rows }]) => [store, row(this.wrongWords(store) + this.leasesHeight(rows)) + this.wrongWords(store)]));
    this.row = new Map(this.shown.map((lane) => [lane, row(SIZES.lane + this.words(lane))]));
    this.below = top;
    this.shelves = new Map(stored.map((store) => [store, row(SIZES.store + this.words(STORAGE))]));
    this.racks = new Map(this.servers().map((server) => [server, row(SIZES.server)]));
    this.height = top;
  }

  /** Room for as many lines of leases as there are. */
  leasesHeight(rows) {
    return 8 + SIZES.leases * Math.min(3, Math.max(1, rows));
  }

  /** The line above the leases that says what is wrong with them, where no thread crosses it. */
  wrongWords(store) {
    return this.scene?.resource === store && this.scene.spans.length ? SIZES.words : 0;
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

  strength(resource) {
    return this.resource < 0 || resource === this.resource ? 1 : 0.16;
  }

  /** A drawing of a scene by itself, for paper. */
  picture(scene, width) {
    const kept = [this.scene, this.resource, this.scale, this.view, this.lit, this.current];
    const canvas = document.createElement("canvas");
    [this.scene, this.lit, this.current] = [scene, new Set(), -1];
    this.resource = scene.resource;
    this.roles();
    this.scale = new Scale(this.knots(), this.shorten);
    this.view = { from: this.scale.to(scene.from), to: this.scale.to(scene.to) };
    this.paintOn(canvas, width);
    [this.scene, this.resource, this.scale, this.view, this.lit, this.current] = kept;
    this.roles();
    return canvas.toDataURL();
  }
}
