"use strict";

/** Pointer, finger, wheel and keyboard. */
Object.assign(Swimlane.prototype, {
  listen() {
    const { canvas, map } = this.elements;
    this.pointers = new Map();
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.lift(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.hover(null));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    const jump = (event) => event.buttons && this.jump(event.offsetX);
    map.addEventListener("pointerdown", jump);
    map.addEventListener("pointermove", jump);
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", () => this.paint());
  },

  press(event) {
    this.elements.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event.offsetX);
    this.pressed = { x: event.offsetX, y: event.offsetY };
  },

  /** A press that did not move is a tap: it shows what is there until the next. */
  lift(event) {
    this.pointers.delete(event.pointerId);
    const moved = Math.hypot(event.offsetX - this.pressed.x, event.offsetY - this.pressed.y);
    if (moved > 8) return;
    this.hover(event, event.pointerType === "mouse" ? 6 : 18);
  },

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) return this.hover(event);
    if (this.pointers.size === 1 && Math.abs(event.offsetX - this.pressed.x) <= 8) return;
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
  },

  hover(event, reach) {
    const hit = !event || event.offsetX < this.gutter ? null : this.at(event.offsetX, event.offsetY, reach);
    if (hit) this.showTip(hit, event.offsetX, event.offsetY);
    else this.hideTip();
    const badge = hit && (this.badges.get(hit.operation) ?? this.hurt.get(hit.band));
    const steps = badge?.steps ?? [];
    if (steps.length !== this.lit.size || steps.some((step) => !this.lit.has(step))) this.light(steps);
  },

  wheel(event) {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (!event.ctrlKey && !event.metaKey && !sideways) return; // the page scrolls
    event.preventDefault();
    if (sideways) this.pan((event.deltaX || event.deltaY) / this.width);
    else this.zoom(1.0018 ** event.deltaY, (event.offsetX - this.gutter) / (this.width - this.gutter));
  },

  jump(x) {
    const middle = this.scale.to(((x - this.gutter) / (this.width - this.gutter)) * this.data.length);
    const span = this.view.to - this.view.from;
    this.view = { from: middle - span / 2, to: middle + span / 2 };
    this.confine();
  },

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
  },

  /** Step to the next or previous operation of what is in focus, and say what it is. */
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
    const hit = this.hits.find((hit) => hit.operation === i) ?? { operation: i, left: this.x(ops.from[i]), bottom: SIZES.axis + 30 };
    this.elements.spoken.textContent = this.showTip({ operation: i }, hit.left, hit.bottom - 10);
  },

  steppable(i) {
    const { operations: ops } = this.data;
    const wanted = this.resource < 0 || ops.resource[i] === this.resource;
    return wanted && !["renew", "heartbeat"].includes(ops.kinds[ops.kind[i]]) && this.row.has(ops.lane[i]);
  },
});
