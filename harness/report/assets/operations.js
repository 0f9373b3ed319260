"use strict";

/** The table of every operation: a filter, which the page's address keeps, and one page of the rows that match. */
class OperationTable {
  static ROWS = 20; // of a page
  static LONGEST_LIST = 500; // of a filter's choices
  static DURING = { any: "during a fault", none: "without a fault" };

  constructor(swimlane) {
    this.swimlane = swimlane;
    this.data = swimlane.data;
    const ids = ["filter", "rows", "matches", "earlier", "later"];
    for (const id of ids) this[id] = document.getElementById(id);
    this.bands = new Map(this.data.bands.map((band) => [this.bandName(band), band]));
    this.offer();
    this.listen();
    document.getElementById("every-operation").hidden = false;
    this.show();
    this.follow();
  }

  bandName({ kind, target, from }) {
    return `during the ${kind} of ${target} at ${format.moment(from, this.swimlane.fineness())}`;
  }

  /** The choices of each list. */
  offer() {
    const { operations: ops, lanes, resources } = this.data;
    const choices = {
      client: lanes, call: ops.kinds, outcome: WORDS, resource: resources,
      fault: this.bands.size ? [...Object.values(OperationTable.DURING), ...this.bands.keys()] : [],
    };
    for (const [name, words] of Object.entries(choices)) {
      const select = this.filter.elements[name];
      select.append(...words.slice(0, OperationTable.LONGEST_LIST).map((word) => new Option(word, word)));
      select.parentElement.hidden = words.length === 0;
    }
  }

  listen() {
    this.filter.addEventListener("input", () => this.apply());
    this.filter.addEventListener("submit", (event) => event.preventDefault());
    this.filter.addEventListener("reset", () => setTimeout(() => this.apply())); // its fields are empty by then
    this.earlier.onclick = () => this.turn(-1);
    this.later.onclick = () => this.turn(1);
    addEventListener("hashchange", () => this.follow());
  }

  /** Take the filter from the address, if it has one. */
  follow() {
    const [, query] = /^#operations\??(.*)$/.exec(location.hash) ?? [];
    if (query === undefined) return;
    const wanted = new URLSearchParams(query);
    for (const field of this.filter.elements) if (field.name) field.value = wanted.get(field.name) ?? "";
    this.show();
    document.getElementById("operations").scrollIntoView();
  }

  /** Keep the filter in the address, and show what matches. */
  apply() {
    const set = [...new FormData(this.filter)].filter(([, value]) => value);
    rememberAddress(`#operations${set.length ? `?${new URLSearchParams(set)}` : ""}`);
    this.show();
  }

  show() {
    this.found = this.matching();
    this.page = 0;
    this.turn(0);
  }

  /** The operations that match every field. */
  matching() {
    const { operations: ops, lanes, resources } = this.data;
    const wanted = Object.fromEntries(new FormData(this.filter));
    const place = (words, word) => (word ? words.indexOf(word) : null);
    const columns = [
      [ops.lane, place(lanes, wanted.client)], [ops.kind, place(ops.kinds, wanted.call)],
      [ops.outcome, place(WORDS, wanted.outcome)], [ops.resource, place(resources, wanted.resource)],
      [ops.token, wanted.token.trim() || null],
    ].filter(([, value]) => value !== null);
    const hit = wanted.fault ? this.hitBy(wanted.fault) : null;
    const text = wanted.text.trim().toLowerCase();
    const found = [];
    for (let i = 0; i < ops.from.length; i += 1)
      if (columns.every(([column, value]) => column[i] === value) && (!hit || hit[i]) && (!text || this.text(i).includes(text))) found.push(i);
    return found;
  }

  /** Which operations were open while a fault was in force. */
  hitBy(choice) {
    const { operations: ops, length } = this.data;
    const { any, none } = OperationTable.DURING;
    const all = choice === any || choice === none;
    const bands = all ? this.data.bands : [this.bands.get(choice)].filter(Boolean);
    const hit = new Uint8Array(ops.from.length);
    for (const band of bands) {
      const end = band.to ?? length;
      for (let i = this.swimlane.first(band.from - this.swimlane.longest); i < hit.length && ops.from[i] <= end; i += 1)
        if (ops.to[i] >= band.from) hit[i] = 1;
    }
    return choice === none ? hit.map((each) => 1 - each) : hit;
  }

  text(i) {
    this.texts ??= [];
    return (this.texts[i] ??= this.cells(i).join(" ").toLowerCase());
  }

  cells(i) {
    const { operations: ops, lanes, resources } = this.data;
    return [
      format.moment(ops.from[i], this.swimlane.fineness()), lanes[ops.lane[i]], ops.kinds[ops.kind[i]], resources[ops.resource[i]],
      ops.token[i] ?? "", ops.value[i] ?? "", this.swimlane.answer(i), format.duration(ops.to[i] - ops.from[i]),
      ops.answer[i] ? `lines ${ops.call[i]}, ${ops.answer[i]}` : `line ${ops.call[i]}`,
    ];
  }

  /** Show another page of what was found. */
  turn(pages) {
    this.page += pages;
    const first = this.page * OperationTable.ROWS;
    const shown = this.found.slice(first, first + OperationTable.ROWS);
    this.rows.replaceChildren(...shown.map((i) => this.row(i)));
    const number = (count) => count.toLocaleString("en");
    const [matches, all] = [this.found.length, this.data.operations.from.length];
    const which = shown.length ? `; shown: ${number(first + 1)} to ${number(first + shown.length)}` : "";
    this.matches.textContent = `${number(matches)} of ${number(all)} operations match${which}`;
    this.earlier.disabled = this.page === 0;
    this.later.disabled = first + shown.length >= matches;
  }

  row(i) {
    const row = document.createElement("tr");
    for (const words of this.cells(i)) row.insertCell().textContent = words;
    return row;
  }
}
