"use strict";

/** The lock's own lane: its leases with their holders and tokens, and the gaps between them. */
Object.assign(Swimlane.prototype, {
  /** The leases in view, each on the first line that is free. */
  stacked(resource) {
    const [start, end] = [this.moment(this.gutter), this.moment(this.width)];
    const ends = [];
    const placed = [];
    this.data.holds.forEach((hold, i) => {
      if (hold[HOLD.RESOURCE] !== resource || hold[HOLD.LEASED] < start || hold[HOLD.GRANTED] > end) return;
      let line = ends.findIndex((until) => until <= hold[HOLD.GRANTED]);
      if (line < 0) line = ends.length < 3 ? ends.length : 2;
      ends[line] = hold[HOLD.LEASED];
      placed.push([i, line]);
    });
    return { placed, rows: ends.length };
  },

  paintLocks() {
    for (const [resource, top] of this.locks) {
      const { placed } = this.stacks.get(resource);
      this.paintGaps(placed, top);
      const [edges, named] = [[-9, -9, -9], []];
      for (const [i, line] of placed) {
        const hold = this.data.holds[i];
        const bar = this.extent(hold[HOLD.GRANTED], hold[HOLD.LEASED], 2);
        if (!bar || (bar[1] <= 2 && bar[0] - edges[line] < 1.5 && !this.isMarked(hold))) continue;
        edges[line] = bar[0];
        this.paintPromise(hold, bar, top + 4 + line * SIZES.leases);
        named.push([hold, bar, top + 4 + line * SIZES.leases]);
        this.hits.push({ left: bar[0], right: bar[0] + bar[1], top: top + 4 + line * SIZES.leases, bottom: top + 4 + (line + 1) * SIZES.leases, hold: i });
      }
      if (this.scene?.resource === resource) for (const span of this.scene.spans) this.paintSpan(span, resource, top);
      for (const each of named) this.nameHolder(...each);
    }
  },

  isMarked(hold) {
    return this.accused.has(hold[HOLD.GRANT]) || this.against.has(hold[HOLD.GRANT]);
  },

  paintPromise(hold, [left, wide], y) {
    const { pen, colours } = this;
    const high = SIZES.leases - 3;
    if (hold[HOLD.PROMISED] >= 0) {
      pen.fillStyle = colours.lease;
      pen.fillRect(left, y, wide, high);
    }
    const marked = this.scene?.wrong && this.isMarked(hold);
    pen.strokeStyle = marked ? colours.stale : colours.belief;
    pen.lineWidth = marked ? 2.5 : 1;
    if (hold[HOLD.PROMISED] < 0) pen.setLineDash([3, 3]);
    if (wide > 3) pen.strokeRect(left + 0.5, y + 0.5, wide - 1, high - 1);
    else pen.fillRect(left, y, wide, high);
    pen.setLineDash([]);
  },

  nameHolder(hold, [left, wide], y) {
    const shown = Math.max(left, this.gutter) + 5;
    const [who, token] = [this.data.lanes[hold[HOLD.LANE]], hold[HOLD.TOKEN]];
    const ways = token === null ? [`${who}, no token`, who] : [`${who} · token ${token}`, `${who} · token ${format.token(token)}`, `token ${token}`, `token ${format.token(token)}`];
    this.writeFrom(ways, shown, y + (SIZES.leases - 3) / 2 + 0.5, Math.min(left + wide, this.width) - 4, { colour: "lease-ink", weight: 600, size: 12 });
  },

  /** The gaps without a lease. A thinned record cannot show them. */
  paintGaps(placed, top) {
    if (!this.data.complete) return;
    let until = null;
    for (const [i] of placed) {
      const hold = this.data.holds[i];
      if (until !== null && hold[HOLD.GRANTED] > until) this.paintGap(until, hold[HOLD.GRANTED], top);
      until = Math.max(until ?? 0, hold[HOLD.LEASED]);
    }
  },

  paintGap(from, to, top) {
    const gap = this.extent(from, to);
    if (!gap || gap[1] < 40) return;
    const middle = (Math.max(gap[0], this.gutter) + Math.min(gap[0] + gap[1], this.width)) / 2;
    const words = [`no lease ${format.duration(to - from)}`, "no lease"];
    this.fit(words, middle, top + 4 + SIZES.leases / 2 - 1, { colour: "soft", size: 11.5, align: "center", room: gap[1] - 8 });
  },

  /** A stretch that is wrong as a whole: promised to two clients, or to none for too long. */
  paintSpan(span, resource, top) {
    const { pen, colours } = this;
    const extent = this.extent(span.from, span.to, 3);
    if (!extent) return;
    const [left, wide] = extent;
    const high = this.leasesHeight(this.stacks.get(resource).rows) - 5;
    if (span.free) {
      pen.fillStyle = colours.paper; // whatever was promised before was over
      pen.fillRect(left, top + 1, wide, high + 4);
      this.take(left, left + wide, top + 1, top + 3 + high);
    }
    for (const edge of [left, left + wide]) this.take(edge - 2, edge + 2, top + 3, top + 3 + high);
    pen.fillStyle = this.hatch.alarm;
    pen.fillRect(left, top + 3, wide, high);
    pen.strokeStyle = colours.stale;
    pen.lineWidth = 2;
    pen.strokeRect(left, top + 3, wide, high);
    const ways = [`${span.words} ${format.duration(span.to - span.from)}`, span.words];
    const middle = (Math.max(left, this.gutter) + Math.min(left + wide, this.width)) / 2;
    this.captions.push({ ways, lines: [top + 1 - SIZES.words / 2], from: this.gutter, to: this.width, near: [middle], colour: "stale" });
  },
});
