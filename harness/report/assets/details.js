"use strict";

/** What is under the pointer, the finger or the keyboard, in words. */
Object.assign(Swimlane.prototype, {
  /** What was drawn nearest to a place; a finger is less exact than a pointer. */
  at(x, y, reach = 6) {
    let [best, nearest] = [null, reach];
    for (let i = this.hits.length - 1; i >= 0; i -= 1) {
      const hit = this.hits[i];
      const off = Math.max(hit.top - y, y - hit.bottom, 0);
      if (off > reach - 6) continue;
      const rank = hit.band !== undefined ? reach - 1 : hit.hold !== undefined ? 1 : 0;
      const away = Math.max(hit.left - x, x - hit.right, 0) + off + rank;
      if (away < nearest) [best, nearest] = [hit, away];
    }
    return best;
  },

  details(hit) {
    if (hit.operation !== undefined) return this.operationDetails(hit.operation);
    if (hit.accepted !== undefined) return this.acceptedDetails(hit.accepted);
    if (hit.hold !== undefined) return this.holdDetails(hit.hold);
    return this.bandDetails(hit.band);
  },

  operationDetails(i) {
    const { operations: ops, lanes, resources } = this.data;
    const kind = ops.kinds[ops.kind[i]];
    const value = ["write", "append", "submit", "take", "execute"].includes(kind) ? ` ${ops.value[i] ?? ""}` : "";
    const token = kind !== "acquire" && ops.token[i] !== null ? `, ${kind === "execute" ? "attempt" : "token"} ${ops.token[i]}` : "";
    const line = ops.answer[i] ? `lines ${ops.call[i]} and ${ops.answer[i]}` : `line ${ops.call[i]}`;
    return [
      `${lanes[ops.lane[i]]}: ${kind}${value} on ${resources[ops.resource[i]]}${token}`,
      this.answer(i),
      this.badges.has(i) ? `${this.accused.has(i) && this.scene.wrong ? "what is wrong, " : ""}in step ${this.badges.get(i).label}` : "",
      `at ${format.moment(ops.from[i], this.fineness() / 100)}, took ${format.duration(ops.to[i] - ops.from[i])}`,
      `process ${ops.process[i]}; history.jsonl ${line}`,
    ].filter(Boolean);
  },

  answer(i) {
    const { operations: ops } = this.data;
    const kind = ops.kinds[ops.kind[i]];
    if (this.isGrant(i)) return ops.token[i] === null ? "granted, without a token" : `granted, token ${ops.token[i]}`;
    if (kind === "read" && ops.outcome[i] === OUTCOME.OK) return `read ${ops.value[i] ?? "nothing"}`;
    const why = ops.outcome[i] === OUTCOME.UNKNOWN ? ops.error[i] || "no answer" : ops.error[i];
    return WORDS[ops.outcome[i]] + (why && why !== "stale" ? `: ${why}` : "");
  },

  acceptedDetails(i) {
    const { accepted, resources } = this.data;
    const operation = accepted.operation[i];
    const who = operation >= 0 ? `from ${this.data.lanes[this.data.operations.lane[operation]]}` : "no client is known to have sent it";
    const span = accepted.latest[i] - accepted.earliest[i];
    return [
      `storage accepted ${accepted.value[i] ?? ""} on ${resources[accepted.resource[i]] ?? ""}, token ${accepted.token[i] ?? "none"}`,
      who,
      accepted.seq[i] === null ? "as its client saw it" : `number ${accepted.seq[i]} in the storage's own order`,
      `between ${format.moment(accepted.earliest[i], this.fineness() / 100)} and ${format.duration(span)} later`,
    ];
  },

  holdDetails(i) {
    const [granted, lane, resource, leased, believed, promised, token, renewals, owner] = this.data.holds[i];
    const which = token === null ? "without a token" : `with token ${token}`;
    const lines = [`${this.data.lanes[lane]} holds ${this.data.resources[resource]} ${which}`,
      `granted at ${format.moment(granted, this.fineness())}${owner ? `, owner ${owner}` : ""}`];
    if (promised >= 0) lines.push(`lease promised until ${format.moment(promised, this.fineness())}${renewals ? `, renewed ${renewals} times` : ""}`);
    else lines.push("no lease was promised");
    if (believed > leased) lines.push(`acted as the holder for ${format.duration(believed - leased)} after the lease had expired`);
    return lines;
  },

  bandDetails(i) {
    const band = this.data.bands[i];
    const lasted = band.to === null ? "its end was not observed" : `lasted ${format.duration(band.to - band.from)}`;
    return [`${band.kind} of ${band.target}`, `from ${format.moment(band.from, this.fineness())}, ${lasted}`,
      band.evidence && `observed: ${band.evidence}`, band.healed && `at its end: ${band.healed}`].filter(Boolean);
  },

  showTip(hit, x, y) {
    const { tip } = this.elements;
    const [title, ...lines] = this.details(hit);
    const bold = document.createElement("b");
    bold.textContent = title;
    tip.replaceChildren(bold, ...lines.map((line) => Object.assign(document.createElement("span"), { textContent: line })));
    tip.hidden = false;
    const left = Math.min(Math.max(4, x + 14), this.width - tip.offsetWidth - 4);
    const above = y + 18 + tip.offsetHeight > this.height && y - tip.offsetHeight - 12 > -40;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${above ? y - tip.offsetHeight - 12 : y + 18}px`;
    return [title, ...lines].join(". ");
  },

  hideTip() {
    this.elements.tip.hidden = true;
  },
});
