"use strict";

/** Where an operation of a kind is drawn in its lane, from and how high, and in which colour; other kinds have the usual ones. */
const PLACES = { acquire: [36, 5], take: [36, 5], release: [33, 10], revoke: [33, 10], submit: [33, 10], execute: [26, 23] };
const COLOURS = { read: "read", acquire: "wait", take: "wait", execute: "lease" };

/** The clients' lanes: leases, operations; and faults, on whatever they hit. */
Object.assign(Swimlane.prototype, {
  paintGround() {
    const { pen, colours } = this;
    pen.globalAlpha = 1;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, this.width, this.height);
    pen.fillStyle = colours.stripe;
    [...this.row.values()].forEach((top, i) => i % 2 && pen.fillRect(0, top, this.width, SIZES.lane + this.words(this.shown[i])));
    pen.fillStyle = colours.panel;
    pen.fillRect(0, this.below, this.width, this.height - this.below);
    pen.fillStyle = colours.rule;
    for (const top of this.tops) pen.fillRect(0, top, this.width, 1);
    for (const knot of this.scale.knots) pen.fillRect(this.x(knot), SIZES.axis, 1, this.height);
  },

  paintBands() {
    const { pen, colours } = this;
    this.data.bands.forEach((band, i) => {
      const end = band.to ?? this.data.length;
      const extent = this.extent(band.from, end, 2);
      const top = band.server === null ? this.row.get(band.lane) : this.racks.get(band.server);
      if (!extent || top === undefined) return;
      const [left, wide] = extent;
      const [high, below] = band.server === null ? [SIZES.lane, this.words(band.lane)] : [SIZES.server, 0];
      const kind = band.kind === "pause" ? "pause" : "cut";
      pen.fillStyle = colours[`${kind}-wash`];
      pen.fillRect(left, top, wide, high);
      pen.fillStyle = this.hatch[kind];
      pen.fillRect(left, top, wide, high);
      pen.fillStyle = colours[kind];
      pen.fillRect(left, top, 1.5, high);
      if (band.to !== null) pen.fillRect(left + wide - 1.5, top, 1.5, high);
      for (const edge of [left, left + wide]) this.take(edge - 2, edge + 2, top, top + high);
      const badge = this.hurt.get(i);
      const spot = { x: Math.min(Math.max(left, this.gutter) + 14, this.width - 12), y: top + high + below - 13, colour: colours[kind] };
      if (badge) this.spots.set(badge, spot);
      const ways = [`${band.short} ${format.duration(end - band.from)}`, band.short];
      const lines = band.server === null ? this.laneLines(band.lane, top) : [spot.y];
      this.captions.push({ ways, lines, lane: band.lane, from: Math.max(left, this.gutter), to: Math.min(left + wide, this.width), colour: kind });
      this.hits.push({ left, right: left + wide, top, bottom: top + high, band: i });
    });
  },

  paintHolds() {
    const { pen, colours } = this;
    const edge = new Map();
    this.data.holds.forEach((hold, i) => {
      const [granted, lane, resource, leased, believed] = hold;
      const top = this.row.get(lane);
      if (top === undefined) return;
      const whole = this.extent(granted, Math.max(leased, believed), 2);
      if (!whole) return;
      if (whole[1] <= 2 && whole[0] - (edge.get(lane) ?? -9) < 1.5) return;
      edge.set(lane, whole[0]);
      pen.globalAlpha = this.strength(resource);
      const bar = this.extent(granted, leased, 2);
      if (bar) this.paintLease(bar, top, hold);
      const belief = believed > leased ? this.extent(leased, believed, 1) : null;
      if (belief) {
        pen.strokeStyle = colours.belief;
        pen.lineWidth = 2.5;
        pen.setLineDash([5, 4]);
        pen.beginPath();
        pen.moveTo(belief[0], top + 12);
        pen.lineTo(belief[0] + belief[1], top + 12);
        pen.stroke();
        pen.setLineDash([]);
      }
      this.take(whole[0], whole[0] + whole[1], top + 5, top + 19);
      pen.globalAlpha = 1;
      this.hits.push({ left: whole[0], right: whole[0] + whole[1], top: top + 4, bottom: top + 21, hold: i });
    });
  },

  paintLease([left, wide], top, hold) {
    const { pen, colours } = this;
    pen.fillStyle = colours.lease;
    if (hold[HOLD.PROMISED] >= 0) pen.fillRect(left, top + 5, wide, 14);
    pen.strokeStyle = pen.fillStyle = colours.belief;
    if (hold[HOLD.PROMISED] < 0 && wide > 3) {
      pen.lineWidth = 1;
      pen.setLineDash([3, 3]);
      pen.strokeRect(left + 0.5, top + 5.5, wide - 1, 13);
      pen.setLineDash([]);
    }
    pen.fillRect(left, top + 5, Math.min(1.5, wide), 14);
    if (wide > 3) pen.fillRect(left + wide - 1.5, top + 5, 1.5, 14);
    const [shown, token] = [Math.max(left, this.gutter) + 6, hold[HOLD.TOKEN]];
    if (token === null || this.strength(hold[HOLD.RESOURCE]) < 1) return;
    this.writeFrom([`token ${token}`, `token ${format.token(token)}`], shown, top + 12.5, Math.min(left + wide, this.width) - 5, { colour: "lease-ink", weight: 600, size: 11.5 });
  },

  paintOperations() {
    const { operations: ops } = this.data;
    const [start, end] = [this.moment(this.gutter), this.moment(this.width)];
    const drawn = new Map();
    for (let i = this.first(start - this.longest); i < ops.from.length && ops.from[i] <= end; i += 1) {
      const top = this.row.get(ops.lane[i]);
      if (top === undefined || ops.to[i] < start || this.unseen.has(i)) continue;
      const extent = this.extent(ops.from[i], ops.to[i], 1.5);
      if (!extent) continue;
      const key = ops.lane[i] * 64 + ops.kind[i] * 4 + ops.outcome[i];
      const right = extent[0] + extent[1];
      if (right - (drawn.get(key) ?? -9) < 1) continue; // there is already another bar
      drawn.set(key, right);
      this.paintOperation(i, top, extent);
    }
    this.pen.globalAlpha = 1;
  },

  paintOperation(i, top, [left, wide]) {
    const { pen, colours } = this;
    const { operations: ops } = this.data;
    const kind = ops.kinds[ops.kind[i]];
    const outcome = ops.outcome[i];
    pen.globalAlpha = this.strength(ops.resource[i]);
    if (kind === "renew" || kind === "heartbeat") {
      pen.fillStyle = outcome === OUTCOME.OK ? colours.belief : colours.refused;
      pen.fillRect(left, top + 19, Math.max(wide, 2), 4);
      this.take(left, left + Math.max(wide, 2), top + 19, top + 23);
      return;
    }
    const [y, high] = PLACES[kind] ?? [29, 17];
    const wrong = this.scene?.wrong && this.accused.has(i);
    const colour = wrong ? "stale" : this.isWrite[ops.kind[i]] ? "write" : COLOURS[kind] ?? "release";
    if (kind === "execute" && outcome === OUTCOME.FAILED) this.bar(left, top + y, wide, high, colours.lease, OUTCOME.OK);
    this.bar(left, top + y, wide, high, colours[colour], outcome, kind === "read" && !wrong, wrong);
    if (kind === "execute") this.nameJob(ops.value[i] ?? "", top + y + high / 2, left, wide, wrong && outcome !== OUTCOME.FAILED);
    this.take(left - 2, left + wide + 2, top + y, top + y + high);
    this.hits.push({ left, right: left + wide, top: top + 25, bottom: top + 52, operation: i });
  },

  nameJob(job, y, left, wide, light) {
    const options = { colour: light ? "paper" : "lease-ink", weight: 600, size: 11.5 };
    this.writeFrom([job], Math.max(left, this.gutter) + 6, y, Math.min(left + wide, this.width) - 5, options);
  },

  bar(left, y, wide, high, colour, outcome, hollow, wrong) {
    const { pen, colours } = this;
    if (outcome === OUTCOME.REJECTED || outcome === OUTCOME.FAILED) {
      pen.strokeStyle = wrong ? colours.stale : colours.refused;
      pen.lineWidth = 2;
      if (wide < 4) {
        pen.fillStyle = pen.strokeStyle;
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
  },
});
